/* Staff slips of the tenant, by the occasion at which they are printed. */
import type { CheckInAnswer, StaffSlipContext } from '../../api/bodies.ts';
import type { Session } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import type { SendOn } from '../prompts.ts';
import { printSlips, type Slip } from './print.ts';
import { hasText } from './receipt.ts';
import { slipValues } from './template.ts';

export type Occasion = SendOn | 'pick' | 'search';

/** The name of the tenant's template. */
const NAMES: Record<Occasion, string> = {
  awaitingPickup: 'Hold',
  inTransit: 'Transit',
  awaitingDelivery: 'Request delivery',
  pick: 'Pick slip',
  search: 'Search slip (Hold requests)',
};

/** Default templates, with the values that staff need to sort the item. */
const PLAIN: Record<Occasion, string> = {
  awaitingPickup:
    '<h1>{{requester.lastName}}, {{requester.preferredFirstName}}</h1><p>{{requester.barcodeImage}}</p><p><strong>{{item.title}}</strong><br>{{item.barcodeImage}}{{item.barcode}}</p><p>{{request.servicePointPickup}}<br>{{request.holdShelfExpirationDate}}</p>',
  inTransit:
    '<h1>{{item.toServicePoint}}</h1><p>{{item.fromServicePoint}} → {{item.toServicePoint}}</p><p><strong>{{item.title}}</strong><br>{{item.barcodeImage}}{{item.barcode}}<br>{{item.callNumber}}<br>{{item.effectiveLocationSpecific}}</p><p>{{staffSlip.currentDateTime}}</p>',
  awaitingDelivery:
    '<h1>{{requester.lastName}}, {{requester.preferredFirstName}}</h1><p>{{requester.addressLine1}}<br>{{requester.addressLine2}}<br>{{requester.postalCode}} {{requester.city}}</p><p><strong>{{item.title}}</strong><br>{{item.barcodeImage}}{{item.barcode}}</p>',
  pick: '<h1>{{item.effectiveLocationSpecific}}</h1><p><strong>{{item.callNumber}}</strong></p><p>{{item.title}}<br>{{item.primaryContributor}}<br>{{item.barcodeImage}}{{item.barcode}}</p><p>{{request.servicePointPickup}}<br>{{request.requestDate}}</p>',
  search:
    '<h1>{{item.effectiveLocationSpecific}}</h1><p><strong>{{item.callNumber}}</strong></p><p>{{item.title}}<br>{{item.primaryContributor}}<br>{{item.barcode}}</p><p>{{request.servicePointPickup}}<br>{{request.requestDate}}</p>',
};

export function staffSlip(occasion: Occasion, context: StaffSlipContext, session: Session): Slip {
  const name = NAMES[occasion];
  const own = session.staffSlips.find((slip) => slip.name === name && slip.active !== false && hasText(slip.template));
  return { template: own?.template ?? PLAIN[occasion], values: slipValues(context, name, session.self.user.username ?? '') };
}

export function printStaffSlips(occasion: Occasion, contexts: StaffSlipContext[], session: Session): void {
  printSlips(contexts.map((context) => staffSlip(occasion, context, session)));
}

export function printSendOn(kind: SendOn, answers: CheckInAnswer[], session: Session): void {
  printStaffSlips(kind, answers.flatMap((answer) => (answer.staffSlipContext ? [answer.staffSlipContext] : [])), session);
}

/** Whether the service point prints this slip by default; yes without a setting. */
export function printsByDefault(kind: SendOn, session: Session): boolean {
  const slip = session.staffSlips.find((one) => one.name === NAMES[kind]);
  return session.servicePoint?.staffSlips?.find((one) => one.id === slip?.id)?.printByDefault ?? true;
}

export const occasionName = (occasion: Occasion) => t(`slip.${occasion}`);
