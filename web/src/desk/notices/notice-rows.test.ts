import { expect, it } from 'vitest';
import { rowsOf } from './notice-rows.ts';

it('the notices to come stand before those that were sent, failed or were skipped', () => {
  const rows = rowsOf({
    planned: [
      { triggeringEvent: 'Due date', nextRunTime: '2026-12-01T00:00:00Z', noticeConfig: { timing: 'Before', templateId: 'a', format: 'Email' } },
      { triggeringEvent: 'Check out', waitsFor: 'the end of the session' },
    ],
    notices: [
      { triggeringEvent: 'Due date', date: '2026-11-01T00:00:00Z', outcome: 'skipped', reason: 'too late' },
      { triggeringEvent: 'Check out', date: '2026-11-02T00:00:00Z', outcome: 'sent', email: { status: 'FAILED', message: 'no such mailbox' } },
    ],
  });
  expect(rows.map(({ outcome, event, reason }) => [outcome, event, reason])).toEqual([
    ['planned', 'Due date, Before', ''],
    ['planned', 'Check out', 'the end of the session'],
    ['skipped', 'Due date', 'too late'],
    ['sent', 'Check out', 'FAILED; no such mailbox'],
  ]);
});
