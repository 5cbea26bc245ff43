/* The due-date receipt, from the tenant's template or a plain one. */
import { post } from '../../api/client.ts';
import type { Loan } from '../../api/bodies.ts';
import type { User } from '../../api/schema.ts';
import type { Session } from '../../session/session.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { type Slip, slipElement } from './print.ts';

/** The name of the tenant's template. */
const NAME = 'Due date receipt';

/** Titles and due dates only: receipts are often left behind, so the patron is not named. */
export function receiptSlip(loans: Loan[], user: User, session: Session): Slip {
  const own = session.staffSlips.find((slip) => slip.name === NAME && slip.active && hasText(slip.template));
  const values: Record<string, string> = {
    'staffSlip.Name': t('receipt.title'),
    'staffSlip.currentDateTime': formatDateTime(new Date()),
    'staffSlip.staffUsername': session.self.user.username ?? '',
    'borrower.barcode': user.barcode ?? '',
  };
  const lines = loans.map((loan, index) => {
    values[`loan${index}.title`] = loan.item.title ?? '';
    values[`loan${index}.barcode`] = loan.item.barcode ?? '';
    values[`loan${index}.due`] = formatDateTime(loan.dueDate);
    return `<li><strong>{{loan${index}.title}}</strong><br>{{loan${index}.barcode}}<br>{{loan${index}.due}}</li>`;
  });
  const list = `<ol>${lines.join('')}</ol>`;
  const template = own?.template?.includes('{{loans}}')
    ? own.template.replace('{{loans}}', list)
    : `${own?.template ?? '<h1>{{staffSlip.Name}}</h1>'}${list}<p>{{staffSlip.currentDateTime}}</p>`;
  return { template, values };
}

/** Sends a receipt to the patron's email address; returns the address. */
export async function sendReceipt(slip: Slip, user: User): Promise<string> {
  const to = user.personal?.email;
  if (!to) throw new Error(t('receipt.noAddress'));
  const body = slipElement(slip).innerHTML;
  const answer = await post<string | undefined>('/email', { notificationId: crypto.randomUUID(), to, header: t('receipt.title'), body, outputFormat: 'text/html' });
  // FOLIO quirk: a server without a mail server reports this in the text of a success response.
  if (typeof answer === 'string' && /SMTP/.test(answer)) throw new Error(answer);
  return to;
}

/** An emptied editor leaves markup without text. */
export function hasText(template: string | undefined): boolean {
  return (template ?? '').replace(/<[^>]*>/g, '').trim() !== '';
}
