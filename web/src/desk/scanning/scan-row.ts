/* A scan's row, from the moment of the scan. */
import type { Scan } from './scan-queue.ts';

export type RowState = 'waiting' | 'working' | 'done' | 'attention' | 'failed' | 'cancelled';

export interface ScanRow {
  id: number;
  barcode: string;
  at: number;
  state: RowState;
  title?: string | undefined;
  /** What happened, one sentence each. */
  messages: string[];
  /** Of the call that failed. */
  requestId?: string | undefined;
}

export function newRow(scan: Scan): ScanRow {
  return { id: scan.id, barcode: scan.barcode, at: scan.at, state: 'waiting', messages: [] };
}

/** The rows with a change to one of them; the other rows stay the same objects, so that they are not drawn anew. */
export function withRow<R extends ScanRow>(rows: R[], id: number, change: Partial<R>): R[] {
  return rows.map((row) => (row.id === id ? { ...row, ...change } : row));
}
