import { describe, expect, it } from 'vitest';
import { BurstDetector } from './burst.ts';

function typed(text: string, gap: number): string | undefined {
  const detector = new BurstDetector();
  let result: string | undefined;
  let at = 0;
  for (const key of [...text, 'Enter']) {
    result = detector.press(key, at);
    at += gap;
  }
  return result;
}

describe('a burst of keys', () => {
  it('that ends with Enter is a scan', () => expect(typed('390000002084', 5)).toBe('390000002084'));
  it('is none when a person types', () => expect(typed('390000002084', 90)).toBeUndefined());
  it('is none when it is short', () => expect(typed('yes', 5)).toBeUndefined());
  it('contains nothing of what was typed slowly before', () => {
    const detector = new BurstDetector();
    detector.press('x', 0);
    let at = 500;
    for (const key of '39001') detector.press(key, (at += 5));
    expect(detector.press('Enter', at + 5)).toBe('39001');
  });
  it('ends with a key that is no character', () => {
    const detector = new BurstDetector();
    for (const key of ['3', '9', '0', '0', 'Tab']) detector.press(key, 0);
    expect(detector.press('Enter', 1)).toBeUndefined();
  });
});
