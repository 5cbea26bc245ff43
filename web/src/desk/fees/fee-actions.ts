/*
 * Which actions fees/fines allow, by state and permission: one table. Each refusing rule has a reason, which the button
 * shows.
 */
import type { Account } from '../../api/schema.ts';
import type { FeeFineAction } from '../../api/bodies.ts';
import type { MessageKey } from '../../text/messages.ts';
import { centsOf } from './money.ts';

export const FEE_ACTIONS = ['pay', 'waive', 'transfer', 'refund', 'cancel'] as const;
export type FeeAction = (typeof FEE_ACTIONS)[number];

/** An account with its actions, oldest first. */
export interface Fee {
  account: Account;
  actions: FeeFineAction[];
}

interface Rule {
  /** The amount that the action can settle, in cents. */
  limit: (fee: Fee) => number;
  /** Why the action is refused for an account without such an amount. */
  none: MessageKey;
  /** Whether the action is refused for fees/fines that were partly paid. */
  onlyUntouched?: boolean;
}

const owed = ({ account }: Fee) => (account.status.name === 'Open' ? centsOf(account.remaining) : 0);

const RULES: Record<FeeAction, Rule> = {
  pay: { limit: owed, none: 'why.feeClosed' },
  waive: { limit: owed, none: 'why.feeClosed' },
  transfer: { limit: owed, none: 'why.feeClosed' },
  refund: { limit: refundable, none: 'why.nothingPaid' },
  cancel: { limit: owed, none: 'why.feeClosed', onlyUntouched: true },
};

/** The amount paid and transferred that has not been refunded, in cents. */
export function refundable({ actions }: Fee): number {
  let cents = 0;
  for (const { typeAction = '', amountAction } of actions) {
    if (/^(Paid|Transferred) (partially|fully)$/.test(typeAction)) cents += centsOf(amountAction);
    if (/^Refunded (partially|fully)$/.test(typeAction)) cents -= centsOf(amountAction);
  }
  return Math.max(0, cents);
}

/** The maximum amount that the action can settle for these accounts, in cents. */
export function limitOf(action: FeeAction, fees: readonly Fee[]): number {
  return fees.reduce((sum, fee) => sum + RULES[action].limit(fee), 0);
}

/** The permission for one account, or for several in one call. */
export function permissionFor(action: FeeAction, several: boolean): string {
  return `feesfines.accounts${several ? '-bulk' : ''}.${action}.post`;
}

/** Why the action is not possible for these accounts; undefined if it is possible. */
export function whyNot(action: FeeAction, fees: readonly Fee[], may: (permission: string) => boolean): MessageKey | undefined {
  const rule = RULES[action];
  if (fees.length === 0) return 'why.noFeeChosen';
  if (!may(permissionFor(action, fees.length > 1))) return 'why.noPermission';
  if (fees.some((fee) => rule.limit(fee) === 0)) return rule.none;
  if (rule.onlyUntouched && fees.some((fee) => refundable(fee) > 0)) return 'why.partlyPaid';
  return undefined;
}

/** Comments in the API's format: one part for staff and one for the patron. */
export function joinComments(staff: string, patron: string): string | undefined {
  const parts = [staff.trim() && `STAFF : ${staff.trim()}`, patron.trim() && `PATRON : ${patron.trim()}`].filter(Boolean);
  return parts.length > 0 ? parts.join(' \n ') : undefined;
}

export function splitComments(comments: string | undefined): { staff: string; patron: string } {
  const part = (name: string) =>
    (comments ?? '')
      .split(' \n ')
      .find((one) => one.startsWith(`${name} : `))
      ?.slice(name.length + 3) ?? '';
  const [staff, patron] = [part('STAFF'), part('PATRON')];
  return staff === '' && patron === '' ? { staff: comments ?? '', patron: '' } : { staff, patron };
}
