/*
 * Uploads offline scans in the order of time. An upload may be repeated, also from another computer with the same file:
 * each scan has its client id as idempotency key, and the server ignores a key that it has processed.
 */
import type { CheckInRequest, CheckOutRequest, Loan } from '../../api/bodies.ts';
import { Failure, linesOf, Unreachable } from '../../api/failure.ts';
import { waysOut, overrideBlocks, type BlockName } from '../check-out/ways-out.ts';
import type { OfflineAction } from './offline-store.ts';

export interface UploadApi {
  /** Loans of an item by its barcode, open and closed; undefined if the item is unknown. */
  loansOfItem: (barcode: string) => Promise<Loan[] | undefined>;
  checkOut: (request: CheckOutRequest, options: { key: string }) => Promise<unknown>;
  checkIn: (request: CheckInRequest, options: { key: string }) => Promise<unknown>;
}

/** The action after an attempt. Throws only if the server is down; then the action stays queued. */
export async function upload(action: OfflineAction, api: UploadApi, comment?: string): Promise<OfflineAction> {
  const done: OfflineAction = { ...action, state: 'uploaded' };
  delete done.problem;
  try {
    const key = { key: action.clientId };
    if (action.kind === 'checkIn') {
      const loans = (await api.loansOfItem(action.itemBarcode)) ?? [];
      const later = loans.find((loan) => loan.status.name === 'Open' && Date.parse(loan.loanDate) > Date.parse(action.at));
      if (later) return refused(action, ['lent-again']);
      await api.checkIn({ itemBarcode: action.itemBarcode, servicePointId: action.servicePointId, checkInDate: action.at }, key);
      return done;
    }
    const request = {
      itemBarcode: action.itemBarcode,
      userBarcode: action.userBarcode ?? '',
      servicePointId: action.servicePointId,
      loanDate: action.at,
      ...(comment && action.overridable ? { overrideBlocks: overrideBlocks(action.overridable as BlockName[], comment) } : {}),
    };
    await api.checkOut(request, key);
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

/** Uploads all queued actions, one after another; each outcome is stored before the next action starts. */
export async function uploadAll(actions: OfflineAction[], api: UploadApi, keep: (action: OfflineAction) => Promise<void>): Promise<void> {
  for (const action of actions) {
    if (action.state === 'waiting') await keep(await upload(action, api));
  }
}
