/* Months as `2026-11`, days as `2026-11-22`, without a zone. */

const DAY_MS = 86_400_000;
const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10);

export function monthOf(month: string): { first: string; last: string; before: string; next: string } {
  const [year = 0, number = 1] = month.split('-').map(Number);
  const start = (shift: number) => Date.UTC(year, number - 1 + shift, 1);
  return {
    first: dateOf(start(0)),
    last: dateOf(start(1) - DAY_MS),
    before: dateOf(start(-1)).slice(0, 7),
    next: dateOf(start(1)).slice(0, 7),
  };
}

/** Whole weeks from Monday that contain the month. */
export function weeksOf(month: string): string[][] {
  const { first, last } = monthOf(month);
  const start = Date.parse(first);
  const monday = start - ((new Date(start).getUTCDay() + 6) % 7) * DAY_MS;
  const weeks: string[][] = [];
  for (let time = monday; time <= Date.parse(last); time += 7 * DAY_MS) {
    weeks.push([0, 1, 2, 3, 4, 5, 6].map((day) => dateOf(time + day * DAY_MS)));
  }
  return weeks;
}

/** The day so many days later, or earlier where the number is negative. */
export const dayAfter = (day: string, days: number): string => dateOf(Date.parse(day) + days * DAY_MS);

/** All days from the first to the last, both included. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  for (let day = first; day <= last; day = dayAfter(day, 1)) days.push(day);
  return days;
}
