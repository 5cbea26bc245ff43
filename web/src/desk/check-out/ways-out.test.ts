import { describe, expect, it } from 'vitest';
import { Failure, type Refusal } from '../../api/failure.ts';
import { overrideBlocks, waysOut } from './ways-out.ts';

const refusal = (fields: Partial<Refusal>): Refusal => ({ message: 'no', parameters: [], ...fields });
const failure = (...refusals: Refusal[]) => new Failure(422, 'no', refusals, '1/circulation');
const everything = () => true;

describe('ways out of a refused check-out', () => {
  it('is an override where all refusals can be overridden', () => {
    const ways = waysOut(
      failure(
        refusal({ overridableBlock: { name: 'patronBlock' } }),
        refusal({ overridableBlock: { name: 'itemNotLoanableBlock' } }),
        refusal({ overridableBlock: { name: 'patronBlock' } }),
      ),
      everything,
    );
    expect(ways).toEqual([{ way: 'override', blocks: ['patronBlock', 'itemNotLoanableBlock'], needsDueDate: true, missingPermissions: [] }]);
  });

  it('is none where one of them can not', () => {
    expect(waysOut(failure(refusal({ overridableBlock: { name: 'patronBlock' } }), refusal({ code: 'USER_IS_INACTIVE' })), everything)).toEqual([]);
  });

  it('names the permissions that are lacking, so that a supervisor can be asked', () => {
    const ways = waysOut(failure(refusal({ overridableBlock: { name: 'itemLimitBlock' } })), () => false);
    expect(ways).toMatchObject([{ way: 'override', missingPermissions: ['circulation.override-item-limit-block.post'] }]);
  });

  it('is to check in first an item that is on loan', () => {
    const refused = failure(refusal({ message: 'Item is already checked out' }), refusal({ code: 'ITEM_HAS_OPEN_LOAN' }));
    expect(waysOut(refused, everything)).toEqual([{ way: 'checkInFirst' }]);
    expect(waysOut(refused, () => false)).toEqual([]);
  });

  it('is to add an item that is unknown', () => {
    expect(waysOut(failure(refusal({ message: 'No item with barcode 1 could be found' })), everything)).toEqual([{ way: 'fastAdd' }]);
  });
});

describe('the body of an override', () => {
  it('has the due date where one is needed', () => {
    expect(overrideBlocks(['patronBlock', 'itemNotLoanableBlock'], 'agreed', '2026-12-01T23:59:00Z')).toEqual({
      comment: 'agreed',
      patronBlock: {},
      itemNotLoanableBlock: { dueDate: '2026-12-01T23:59:00Z' },
    });
  });
});
