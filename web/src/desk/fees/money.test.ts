import { describe, expect, it } from 'vitest';
import { amountText, centsOf, parseCents } from './money.ts';

describe('amounts', () => {
  it.each([
    ['2.50', 250],
    ['2,5', 250],
    [' 12 ', 1200],
    ['0.07', 7],
  ])('%j is read as %i cents', (text, cents) => expect(parseCents(text)).toBe(cents));
  it.each(['', '-1', '1.234', '1e3', 'much', '1,000.00', '.5'])('%j is no amount', (text) => expect(parseCents(text)).toBeUndefined());
  it('add up without the errors of decimal numbers', () => {
    expect(centsOf(0.1) + centsOf(0.2)).toBe(30);
    expect(centsOf('2.50')).toBe(250);
    expect(centsOf(undefined)).toBe(0);
  });
  it('are written with two places', () => {
    expect([0, 7, 250, 100_000].map(amountText)).toEqual(['0.00', '0.07', '2.50', '1000.00']);
  });
});
