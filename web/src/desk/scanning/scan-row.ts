/* The row of a scan. */
import type { Scan } from './scan-queue.ts';

export type RowState = 'waiting' | 'working' | 'done' | 'attention' | 'failed' | 'cancelled';

export interface ScanRow {
  id: number;
  barcode: string;
  at: number;
  state: RowState;
  title?: string | undefined;
  /** The messages, one sentence each. */
  messages: string[];
  /** Request id of the failed call. */
  requestId?: string | undefined;
}

export function newRow(scan: Scan): ScanRow {
  return { id: scan.id, barcode: scan.barcode, at: scan.at, state: 'waiting', messages: [] };
}

/** Scans that have no outcome yet. */
export function pendingCount(rows: readonly ScanRow[]): number {
  return rows.filter(({ state }) => state === 'waiting' || state === 'working').length;
}

/** The rows with one of them changed; the other rows stay the same objects, so that they do not re-render. */
export function withRow<R extends ScanRow>(rows: R[], id: number, change: Partial<R>): R[] {
  return rows.map((row) => (row.id === id ? { ...row, ...change } : row));
}
