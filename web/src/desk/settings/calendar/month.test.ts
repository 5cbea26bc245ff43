import { describe, expect, it } from 'vitest';
import { calendarFor, exceptionOf } from './calendar-api.ts';
import { daysBetween, monthOf, weeksOf } from './month.ts';

it('a month knows its first and last day and its neighbors', () => {
  expect(monthOf('2028-02')).toEqual({ first: '2028-02-01', last: '2028-02-29', before: '2028-01', next: '2028-03' });
  expect(monthOf('2026-12').next).toBe('2027-01');
});

it('weeks begin on Monday and contain the whole month', () => {
  const weeks = weeksOf('2026-11');
  expect(weeks[0]?.[0]).toBe('2026-10-26');
  expect(weeks.at(-1)?.at(-1)).toBe('2026-12-06');
  expect(weeks.every((week) => week.length === 7)).toBe(true);
});

describe('an exception', () => {
  it('opens each of its days, over the end of a month', () => {
    const { startDate, endDate, openings } = exceptionOf('Fair', daysBetween('2026-11-29', '2026-12-01'), { from: '10:00', to: '16:00' });
    expect([startDate, endDate]).toEqual(['2026-11-29', '2026-12-01']);
    expect(openings.map((one) => [one.startDate, one.startTime, one.endDate, one.endTime])).toEqual(
      ['2026-11-29', '2026-11-30', '2026-12-01'].map((day) => [day, '10:00:00', day, '16:00:00']),
    );
  });
  it('closes its days where it has no hours', () => {
    expect(exceptionOf('Moving', ['2026-11-29'], undefined).openings).toEqual([]);
  });
  it('belongs to the calendar that has all its days', () => {
    const calendar = (startDate: string, endDate: string) => ({ id: startDate, name: '', startDate, endDate, assignments: [], exceptions: [] });
    const calendars = [calendar('2026-01-01', '2026-12-31'), calendar('2027-01-01', '2027-12-31')];
    expect(calendarFor(calendars, '2027-01-01', '2027-01-02')?.id).toBe('2027-01-01');
    expect(calendarFor(calendars, '2026-12-31', '2027-01-01')).toBeUndefined();
  });
});
