/*
 * Uploads what was scanned offline, in the order of time. An upload may be repeated: a loan that began, or ended, at the
 * very millisecond of the scan is the one that an earlier attempt made, whose answer was lost.
 */
import type { CheckInRequest, CheckOutRequest, Loan } from '../../api/bodies.ts';
import { Failure, linesOf, Unreachable } from '../../api/failure.ts';
import { waysOut, overrideBlocks, type BlockName } from '../check-out/ways-out.ts';
import type { OfflineAction } from './offline-store.ts';

export interface UploadApi {
  /** Loans of an item by its barcode, open and closed; undefined where the item is unknown. */
  loansOfItem: (barcode: string) => Promise<Loan[] | undefined>;
  checkOut: (request: CheckOutRequest) => Promise<unknown>;
  checkIn: (request: CheckInRequest) => Promise<unknown>;
}

const isSameTime = (one: string | undefined, other: string) => one !== undefined && Date.parse(one) === Date.parse(other);

/** The action after an attempt. Throws only where the server is gone; the action waits then. */
export async function upload(action: OfflineAction, api: UploadApi, comment?: string): Promise<OfflineAction> {
  const done: OfflineAction = { ...action, state: 'uploaded' };
  delete done.problem;
  try {
    const loans = (await api.loansOfItem(action.itemBarcode)) ?? [];
    if (action.kind === 'checkIn') {
      if (loans.some((loan) => isSameTime(loan.returnDate, action.at))) return done;
      const later = loans.find((loan) => loan.status.name === 'Open' && Date.parse(loan.loanDate) > Date.parse(action.at));
      if (later) return refused(action, ['lent-again']);
      await api.checkIn({ itemBarcode: action.itemBarcode, servicePointId: action.servicePointId, checkInDate: action.at });
      return done;
    }
    const mine = (loan: Loan) => isSameTime(loan.loanDate, action.at) && (loan.borrower?.barcode ?? action.userBarcode) === action.userBarcode;
    if (loans.some(mine)) return done;
    await api.checkOut({
      itemBarcode: action.itemBarcode,
      userBarcode: action.userBarcode ?? '',
      servicePointId: action.servicePointId,
      loanDate: action.at,
      ...(comment && action.overridable ? { overrideBlocks: overrideBlocks(action.overridable as BlockName[], comment) } : {}),
    });
    return done;
  } catch (error) {
    if (error instanceof Unreachable) throw error;
    const ways = error instanceof Failure ? waysOut(error, () => true) : [];
    const override = ways.find((way) => way.way === 'override' && !way.needsDueDate);
    return refused(action, linesOf(error), override?.way === 'override' ? override.blocks : undefined);
  }
}

function refused(action: OfflineAction, problem: string[], overridable?: string[]): OfflineAction {
  const { overridable: _, ...rest } = action;
  return { ...rest, state: 'exception', problem, ...(overridable ? { overridable } : {}) };
}

/** Uploads all that wait, one after the other; each outcome is kept before the next begins. */
export async function uploadAll(actions: OfflineAction[], api: UploadApi, keep: (action: OfflineAction) => Promise<void>): Promise<void> {
  for (const action of actions) {
    if (action.state === 'waiting') await keep(await upload(action, api));
  }
}
