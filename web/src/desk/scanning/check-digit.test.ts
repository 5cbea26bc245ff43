import { describe, expect, it } from 'vitest';
import { hasWrongCheckDigit } from './check-digit.ts';

describe('the check digit of a library barcode', () => {
  it('is right in barcodes as printed', () => {
    for (const barcode of ['29999000000018', '39999000000016', '31234000000016']) expect([barcode, hasWrongCheckDigit(barcode)]).toEqual([barcode, false]);
  });
  it('is wrong when one digit was misread, or two neighbors were swapped', () => {
    expect(hasWrongCheckDigit('39999000000116')).toBe(true);
    expect(hasWrongCheckDigit('39999000000061')).toBe(true);
  });
  it('is not looked for in other barcodes', () => {
    for (const barcode of ['390000002084', '49999000000010', '3999900000001X', 'brief-1']) expect([barcode, hasWrongCheckDigit(barcode)]).toEqual([barcode, false]);
  });
});
