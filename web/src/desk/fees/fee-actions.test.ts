import { describe, expect, it } from 'vitest';
import type { Account } from '../../api/schema.ts';
import { type Fee, FEE_ACTIONS, joinComments, limitOf, refundable, splitComments, whyNot } from './fee-actions.ts';

const fee = (remaining: number, actions: [string, number][] = [], status = remaining > 0 ? 'Open' : 'Closed'): Fee => ({
  account: { id: 'one', remaining, amount: 10, status: { name: status } } as Account,
  actions: actions.map(([typeAction, amountAction]) => ({ typeAction, amountAction, accountId: 'one' })),
});
const anybody = () => true;
const refusals = (...fees: Fee[]) => Object.fromEntries(FEE_ACTIONS.map((action) => [action, whyNot(action, fees, anybody)]));

describe('actions on fees and fines', () => {
  it('need an account', () => {
    expect(new Set(Object.values(refusals()))).toEqual(new Set(['why.noFeeChosen']));
  });
  it('settle what is open', () => {
    expect(refusals(fee(10))).toEqual({ pay: undefined, waive: undefined, transfer: undefined, refund: 'why.nothingPaid', cancel: undefined });
  });
  it('refund what was paid, and do not cancel it', () => {
    const partly = fee(7.5, [['Overdue fine', 10], ['Paid partially', 2.5]]);
    expect(refusals(partly)).toEqual({ pay: undefined, waive: undefined, transfer: undefined, refund: undefined, cancel: 'why.partlyPaid' });
  });
  it('of a closed account are refunds alone', () => {
    const closed = fee(0, [['Paid fully', 10]]);
    expect(refusals(closed)).toEqual({ pay: 'why.feeClosed', waive: 'why.feeClosed', transfer: 'why.feeClosed', refund: undefined, cancel: 'why.feeClosed' });
  });
  it('of several accounts must be possible in each', () => {
    expect(whyNot('pay', [fee(10), fee(0)], anybody)).toBe('why.feeClosed');
  });
  it('have a permission for one and another for several', () => {
    const may = (permission: string) => permission === 'feesfines.accounts.pay.post';
    expect(whyNot('pay', [fee(10)], may)).toBeUndefined();
    expect(whyNot('pay', [fee(10), fee(5)], may)).toBe('why.noPermission');
  });
  it('suggest the whole amount', () => {
    expect(limitOf('pay', [fee(0.1), fee(0.2)])).toBe(30);
  });
  it('give back once what was paid and transferred', () => {
    expect(refundable(fee(0, [['Paid partially', 4], ['Transferred fully', 6], ['Credited partially', 4], ['Refunded partially', 4], ['Waived partially', 1]]))).toBe(600);
  });
});

describe('comments', () => {
  it('keep what is for staff apart from what is for the patron', () => {
    const joined = joinComments(' torn cover ', 'please take care');
    expect(joined).toBe('STAFF : torn cover \n PATRON : please take care');
    expect(splitComments(joined)).toEqual({ staff: 'torn cover', patron: 'please take care' });
    expect(joinComments('', '')).toBeUndefined();
    expect(splitComments('written by another program')).toEqual({ staff: 'written by another program', patron: '' });
  });
});
