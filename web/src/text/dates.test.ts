import { describe, expect, it } from 'vitest';
import { formatRelative, fromWallTime, toWallTime } from './dates.ts';

describe('wall time', () => {
  it('is the time in the zone of the tenant', () => {
    expect(toWallTime(new Date('2026-11-22T23:30:00Z'), 'Europe/Berlin')).toBe('2026-11-23T00:30');
    expect(toWallTime(new Date('2026-11-22T03:30:00Z'), 'America/New_York')).toBe('2026-11-21T22:30');
  });

  it('is read back as the same instant, also near changes of daylight saving', () => {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland']) {
      for (const day of ['2026-03-29', '2026-03-08', '2026-11-01', '2026-10-25', '2026-06-15']) {
        for (const time of ['00:30', '12:00', '23:59']) {
          const wall = `${day}T${time}`;
          expect(toWallTime(fromWallTime(wall, zone), zone)).toBe(wall);
        }
      }
    }
  });

  it('keeps seconds', () => {
    expect(fromWallTime('2026-06-15T23:59:59', 'Europe/Berlin').toISOString()).toBe('2026-06-15T21:59:59.000Z');
  });
});

describe('relative time', () => {
  const now = Date.parse('2026-11-22T12:00:00Z');
  it('uses the largest unit that fits', () => {
    expect(formatRelative('2026-12-20T12:00:00Z', 'en', now)).toBe('in 4 weeks');
    expect(formatRelative('2026-11-30T12:00:00Z', 'en', now)).toBe('in 8 days');
    expect(formatRelative('2026-11-22T14:00:00Z', 'en', now)).toBe('in 2 hours');
    expect(formatRelative('2026-11-19T12:00:00Z', 'en', now)).toBe('3 days ago');
  });
});
