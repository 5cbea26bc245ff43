/*
 * What may be done with fees/fines, in which state and by whom: one table. A rule that refuses says why, and the button
 * shows the reason.
 */
import type { Account } from '../../api/schema.ts';
import type { FeeFineAction } from '../../api/bodies.ts';
import type { MessageKey } from '../../text/messages.ts';
import { centsOf } from './money.ts';

export const FEE_ACTIONS = ['pay', 'waive', 'transfer', 'refund', 'cancel'] as const;
export type FeeAction = (typeof FEE_ACTIONS)[number];

/** An account with what was done about it, oldest first. */
export interface Fee {
  account: Account;
  actions: FeeFineAction[];
}

interface Rule {
  /** What the action can deal with, in cents. */
  limit: (fee: Fee) => number;
  /** Why an account without anything of that refuses the action. */
  none: MessageKey;
  /** Whether the action closes fees/fines that were partly paid as if nothing had been owed. */
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

/** What was paid and transferred and has not been given back, in cents. */
export function refundable({ actions }: Fee): number {
  let cents = 0;
  for (const { typeAction = '', amountAction } of actions) {
    if (/^(Paid|Transferred) (partially|fully)$/.test(typeAction)) cents += centsOf(amountAction);
    if (/^Refunded (partially|fully)$/.test(typeAction)) cents -= centsOf(amountAction);
  }
  return Math.max(0, cents);
}

/** The most that the action can deal with in these accounts, in cents. */
export function limitOf(action: FeeAction, fees: readonly Fee[]): number {
  return fees.reduce((sum, fee) => sum + RULES[action].limit(fee), 0);
}

/** The permission for one account, or for several at once. */
export function permissionFor(action: FeeAction, several: boolean): string {
  return `feesfines.accounts${several ? '-bulk' : ''}.${action}.post`;
}

/** Why the action can not be done with these accounts; undefined where it can. */
export function whyNot(action: FeeAction, fees: readonly Fee[], may: (permission: string) => boolean): MessageKey | undefined {
  const rule = RULES[action];
  if (fees.length === 0) return 'why.noFeeChosen';
  if (!may(permissionFor(action, fees.length > 1))) return 'why.noPermission';
  if (fees.some((fee) => rule.limit(fee) === 0)) return rule.none;
  if (rule.onlyUntouched && fees.some((fee) => refundable(fee) > 0)) return 'why.partlyPaid';
  return undefined;
}

/** Comments as the API keeps them: a part for staff and a part for the patron. */
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
