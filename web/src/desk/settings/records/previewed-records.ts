/* Records of a patron with whose values a notice is previewed. */
import { formatDate, formatMoney } from '../../../text/dates.ts';
import { findUser, loansOf, requestsOf } from '../../circulation-api.ts';
import { feesOf } from '../../fees/fee-api.ts';

/** The kinds of records, with the name of their id in the body of the preview. */
export const PREVIEWED = { loan: 'loanId', request: 'requestId', fee: 'feeFineActionId' } as const;
export type Previewed = keyof typeof PREVIEWED;

interface RecordChoice {
  /** The id of a loan, a request or an action of a fee/fine. */
  value: string;
  label: string;
}

const joined = (...parts: (string | undefined)[]) => parts.filter(Boolean).join(' · ');

/** The open loans, the open requests, or the actions of fees/fines of a patron; none if the patron is unknown. */
export async function recordsToPreview(kind: Previewed, card: string, identifiers: readonly string[]): Promise<RecordChoice[]> {
  const id = (await findUser(card, identifiers))?.id;
  if (id === undefined) return [];
  switch (kind) {
    case 'loan':
      return (await loansOf(id, 'Open')).map((loan) => ({ value: loan.id, label: joined(loan.item.title, formatDate(loan.dueDate)) }));
    case 'request':
      return (await requestsOf(id)).map((request) => ({ value: request.id, label: joined(request.instance?.title, request.requestType, request.status) }));
    case 'fee':
      return (await feesOf(id)).flatMap(({ account, actions }) =>
        [...actions].reverse().flatMap((action) => (action.id ? [{ value: action.id, label: joined(account.feeFineType, action.typeAction, formatMoney(Number(action.amountAction ?? 0)), formatDate(action.dateAction)) }] : [])),
      );
  }
}
