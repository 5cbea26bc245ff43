/* Calendars with their exceptions: days on which the hours differ from those of the week. */
import { get, put, withQuery } from '../../../api/client.ts';

export interface Opening {
  startDate: string;
  startTime: string;
  endDate: string;
  endTime: string;
}

export interface Exception {
  name: string;
  startDate: string;
  endDate: string;
  /** None: closed. */
  openings: Opening[];
}

export interface Calendar {
  id: string;
  name: string;
  startDate: string;
  endDate: string;
  assignments: string[];
  exceptions: Exception[];
}

export async function calendarsOf(servicePointId: string): Promise<Calendar[]> {
  return (await get<{ calendars: Calendar[] }>(withQuery('/calendar/calendars', { servicePointId, limit: 100 }))).calendars;
}

/** The calendar that has all days from the first to the last. */
export function calendarFor(calendars: readonly Calendar[], first: string, last: string): Calendar | undefined {
  return calendars.find((one) => one.startDate <= first && last <= one.endDate);
}

/** Hours that are the same on each of the days; none: closed. */
export function exceptionOf(name: string, days: readonly string[], hours: { from: string; to: string } | undefined): Exception {
  const sorted = [...days].sort();
  const startDate = sorted[0] ?? '';
  const withSeconds = (time: string) => (time.length === 5 ? `${time}:00` : time);
  return {
    name,
    startDate,
    endDate: sorted.at(-1) ?? startDate,
    openings: hours ? sorted.map((day) => ({ startDate: day, startTime: withSeconds(hours.from), endDate: day, endTime: withSeconds(hours.to) })) : [],
  };
}

export const saveExceptions = (calendar: Calendar, exceptions: Exception[]) => put(`/calendar/calendars/${calendar.id}`, { ...calendar, exceptions });
