import { expect, it } from 'vitest';
import { monthOf, weeksOf } from './month.ts';

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
