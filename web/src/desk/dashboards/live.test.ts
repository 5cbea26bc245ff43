import { describe, expect, it } from 'vitest';
import { barsOf, hoursOf, type OpenRequests, type Quarter, refusalsSince, requestTotals, totalOf } from './live.ts';

const MIDNIGHT = new Date('2026-05-01T00:00:00Z');
const NOON = new Date('2026-05-01T12:07:00Z');
const quarter = (time: string, kind: Quarter['kind'], number: number, servicePointId = 'main'): Quarter => ({ start: `2026-05-01T${time}:00.000+00:00`, kind, number, servicePointId });

describe('the day in quarter hours', () => {
  const quarters = [quarter('09:00', 'checkOut', 3), quarter('09:45', 'checkOut', 2, 'branch'), quarter('12:00', 'checkIn', 4)];
  it('has a bar for each, also without scans', () => {
    const bars = barsOf(quarters, MIDNIGHT, NOON, '');
    expect(bars).toHaveLength(49);
    expect([totalOf(bars, 'checkOut'), totalOf(bars, 'checkIn'), totalOf(bars, 'renewal')]).toEqual([5, 4, 0]);
    expect(bars[36]?.counts.checkOut).toBe(3);
  });
  it('can be that of one service point', () => {
    expect(totalOf(barsOf(quarters, MIDNIGHT, NOON, 'branch'), 'checkOut')).toBe(2);
  });
  it('leaves out what was before the day began', () => {
    const before: Quarter = { ...quarter('09:00', 'checkOut', 9), start: '2026-04-30T23:45:00.000+00:00' };
    expect(totalOf(barsOf([before], MIDNIGHT, NOON, ''), 'checkOut')).toBe(0);
  });
  it('adds up to hours', () => {
    const hours = hoursOf(barsOf(quarters, MIDNIGHT, NOON, ''));
    expect(hours).toHaveLength(13);
    expect(hours[9]?.counts.checkOut).toBe(5);
  });
});

describe('open requests', () => {
  const requests: OpenRequests[] = [
    { requestType: 'Hold', status: 'Open - Awaiting pickup', pickupServicePointId: 'main', number: 2, expiredOnHoldShelf: 1 },
    { requestType: 'Hold', status: 'Open - Not yet filled', pickupServicePointId: 'branch', number: 3, expiredOnHoldShelf: 0 },
    { requestType: 'Page', status: 'Open - Not yet filled', pickupServicePointId: 'main', number: 5, expiredOnHoldShelf: 0 },
  ];
  it('are counted by type and status, at all service points or at one', () => {
    expect(requestTotals(requests, '')).toEqual({ byType: [['Hold', 5], ['Page', 5]], byStatus: [['Open - Awaiting pickup', 2], ['Open - Not yet filled', 8]], awaitingPickup: 2, expiredOnHoldShelf: 1, total: 10 });
    expect(requestTotals(requests, 'branch')).toMatchObject({ byType: [['Hold', 3]], awaitingPickup: 0, total: 3 });
  });
});

it('refused check-outs are counted by reason, those of yesterday not', () => {
  const refused = (start: string, reason: string, number: number) => ({ start, reason, number });
  const refusals = [
    refused('2026-04-30T23:45:00Z', 'patronBlock', 9),
    refused('2026-05-01T09:00:00Z', 'ITEM_HAS_OPEN_LOAN', 1),
    refused('2026-05-01T09:00:00Z', 'patronBlock', 1),
    refused('2026-05-01T09:15:00Z', 'patronBlock', 2),
  ];
  expect(refusalsSince(refusals, MIDNIGHT)).toEqual([['patronBlock', 3], ['ITEM_HAS_OPEN_LOAN', 1]]);
});
