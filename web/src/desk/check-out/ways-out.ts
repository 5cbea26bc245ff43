/* What staff may do when a check-out is refused: one table of the server's refusals. */
import type { OverrideBlocks } from '../../api/bodies.ts';
import type { Failure, Refusal } from '../../api/failure.ts';

export type BlockName = Exclude<keyof OverrideBlocks, 'comment'>;

export type WayOut =
  | { way: 'override'; blocks: BlockName[]; needsDueDate: boolean; missingPermissions: string[] }
  | { way: 'checkInFirst' }
  | { way: 'fastAdd' };

const PERMISSIONS: Record<BlockName, string> = {
  patronBlock: 'circulation.override-patron-block.post',
  itemLimitBlock: 'circulation.override-item-limit-block.post',
  itemNotLoanableBlock: 'circulation.override-item-not-loanable-block.post',
  renewalBlock: 'circulation.override-renewal-block.post',
  renewalDueDateRequiredBlock: 'circulation.override-renewal-block.post',
};

function blockOf(refusal: Refusal): BlockName | undefined {
  const name = refusal.overridableBlock?.name;
  return name !== undefined && name in PERMISSIONS ? (name as BlockName) : undefined;
}

/** All actions for a refused scan, best first; empty if staff can only cancel. */
export function waysOut(failure: Failure, may: (permission: string) => boolean): WayOut[] {
  const refusals = failure.refusals;
  if (refusals.length === 0) return [];
  const blocks = refusals.map(blockOf);
  if (blocks.every((block) => block !== undefined)) {
    const named = [...new Set(blocks)];
    const missing = refusals.flatMap((refusal) => refusal.overridableBlock?.missingPermissions ?? []);
    const lacking = named.map((block) => PERMISSIONS[block]).filter((permission) => !may(permission));
    return [
      {
        way: 'override',
        blocks: named,
        needsDueDate: named.includes('itemNotLoanableBlock') || named.includes('renewalDueDateRequiredBlock'),
        missingPermissions: [...new Set([...missing, ...lacking])],
      },
    ];
  }
  const isOnLoan = (refusal: Refusal) => refusal.code === 'ITEM_HAS_OPEN_LOAN' || /already checked out/.test(refusal.message);
  if (refusals.every(isOnLoan)) return may('circulation.check-in-by-barcode.post') ? [{ way: 'checkInFirst' }] : [];
  if (refusals.every(isUnknownItem)) return may('inventory.items.item.post') ? [{ way: 'fastAdd' }] : [];
  return [];
}

export function isUnknownItem(refusal: Refusal): boolean {
  return refusal.code === 'ITEM_BARCODE_NOT_FOUND' || /^No item with barcode /.test(refusal.message);
}

/** The body of an override. */
export function overrideBlocks(blocks: readonly BlockName[], comment: string, dueDate?: string): OverrideBlocks {
  const body: OverrideBlocks = { comment };
  for (const block of blocks) {
    if (block === 'itemNotLoanableBlock' || block === 'renewalDueDateRequiredBlock') {
      if (dueDate !== undefined) body[block] = { dueDate };
    } else {
      body[block] = {};
    }
  }
  return body;
}
