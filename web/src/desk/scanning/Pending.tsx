import { tn } from '../../text/messages.ts';
import { pendingCount, type ScanRow } from './scan-row.ts';

/** How many scans have no outcome yet; a single one is seen in its row. */
export function Pending({ rows }: { rows: readonly ScanRow[] }) {
  const count = pendingCount(rows);
  return count > 1 && <span className="pending-count">{tn('rows.pending', count)}</span>;
}
