import { describe, expect, it } from 'vitest';
import type { Loan } from '../api/bodies.ts';
import { judge, LOAN_ACTIONS } from './loan-actions.ts';

const loan = (itemStatus: string, status = 'Open'): Loan => ({
  id: 'l',
  itemId: 'i',
  action: 'checkedout',
  loanDate: '',
  dueDate: '',
  status: { name: status },
  item: { id: 'i', status: { name: itemStatus } },
});
const everything = () => true;

describe('what may be done with a loan', () => {
  it('is nothing without permissions, and nothing when it is closed', () => {
    for (const action of LOAN_ACTIONS) {
      expect(judge(action, loan('Checked out'), () => false)).toEqual({ shown: false });
      expect(judge(action, loan('Available', 'Closed'), everything)).toEqual({ shown: false });
    }
  });
  it('is refused with a reason where the item was claimed returned', () => {
    expect(judge('renew', loan('Claimed returned'), everything)).toEqual({ shown: true, why: 'why.claimedReturned' });
    expect(judge('changeDueDate', loan('Claimed returned'), everything).why).toBeDefined();
    expect(judge('declareMissing', loan('Claimed returned'), everything)).toEqual({ shown: true });
  });
  it('includes all but declaring missing while the item is out', () => {
    const shown = LOAN_ACTIONS.filter((action) => judge(action, loan('Checked out'), everything).shown);
    expect(shown).toEqual(LOAN_ACTIONS.filter((action) => action !== 'declareMissing'));
  });
});
