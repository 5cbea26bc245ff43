import { describe, expect, it } from 'vitest';
import { type CheckInRow, KEPT_ROWS, withNewest } from './check-in-session.ts';

const row = (id: number, state: CheckInRow['state'] = 'done'): CheckInRow => ({ id, barcode: String(id), at: id, state, messages: [] });

describe('the rows of a check-in session', () => {
  it('begin with the newest and do not grow for ever', () => {
    let rows: CheckInRow[] = [];
    for (let id = 1; id <= 3 * KEPT_ROWS; id += 1) rows = withNewest(rows, row(id));
    expect(rows).toHaveLength(KEPT_ROWS);
    expect(rows[0]?.id).toBe(3 * KEPT_ROWS);
  });

  it('keep what failed, however old', () => {
    let rows: CheckInRow[] = [row(0, 'failed')];
    for (let id = 1; id <= 2 * KEPT_ROWS; id += 1) rows = withNewest(rows, row(id));
    expect(rows.at(-1)).toMatchObject({ id: 0, state: 'failed' });
  });
});
