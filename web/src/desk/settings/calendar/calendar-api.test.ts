import { describe, expect, it } from 'vitest';
import { daysBetween } from '../../../text/month.ts';
import { calendarFor, exceptionOf } from './calendar-api.ts';

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
