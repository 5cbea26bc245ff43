/*
 * Which actions a loan allows, by state and permission: one table. Each refusing rule has a reason, which the button
 * shows.
 */
import type { Loan } from '../api/bodies.ts';
import type { MessageKey } from '../text/messages.ts';

export type LoanAction = 'renew' | 'changeDueDate' | 'claimReturned' | 'declareLost' | 'declareMissing' | 'addPatronInfo' | 'addStaffInfo' | 'checkIn';

interface Rule {
  permission: string;
  /** Item statuses in which the action is refused, with the reason. */
  refusedIn: Partial<Record<string, MessageKey>>;
  /** The item statuses in which the action is offered at all. */
  onlyIn?: readonly string[];
}

const LOST: Rule['refusedIn'] = { 'Declared lost': 'why.declaredLost', 'Aged to lost': 'why.agedToLost', 'Claimed returned': 'why.claimedReturned' };
const ANY: Rule['refusedIn'] = {};

const RULES: Record<LoanAction, Rule> = {
  renew: { permission: 'circulation.renew-by-id.post', refusedIn: { 'Claimed returned': 'why.claimedReturned' } },
  changeDueDate: { permission: 'circulation.loans.change-due-date.post', refusedIn: LOST },
  claimReturned: { permission: 'circulation.loans.claim-item-returned.post', refusedIn: { 'Claimed returned': 'why.claimedReturned' } },
  declareLost: { permission: 'circulation.loans.declare-item-lost.post', refusedIn: { 'Declared lost': 'why.declaredLost' } },
  declareMissing: { permission: 'circulation.loans.declare-claimed-returned-item-as-missing.post', refusedIn: ANY, onlyIn: ['Claimed returned'] },
  addPatronInfo: { permission: 'circulation.loans.add-info.post', refusedIn: ANY },
  addStaffInfo: { permission: 'circulation.loans.add-info.post', refusedIn: ANY },
  checkIn: { permission: 'circulation.check-in-by-barcode.post', refusedIn: { 'Claimed returned': 'why.claimedReturned' } },
};

export const LOAN_ACTIONS = Object.keys(RULES) as LoanAction[];

/** Whether the action is shown, and why it is disabled. */
export function judge(action: LoanAction, loan: Loan, may: (permission: string) => boolean): { shown: boolean; why?: MessageKey } {
  const rule = RULES[action];
  const status = loan.item.status?.name ?? '';
  if (!may(rule.permission) || loan.status.name === 'Closed') return { shown: false };
  if (rule.onlyIn && !rule.onlyIn.includes(status)) return { shown: false };
  const why = rule.refusedIn[status];
  return why === undefined ? { shown: true } : { shown: true, why };
}
