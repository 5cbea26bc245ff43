/*
 * Check digits of library barcodes: 14 digits, of which the first is 2 for patrons and 3 for items, and the last makes
 * the sum of modulus 10 (Luhn) a multiple of ten. Other barcodes have none that could be wrong.
 */
const LIBRARY_BARCODE = /^[23]\d{13}$/;

export function hasWrongCheckDigit(barcode: string): boolean {
  return LIBRARY_BARCODE.test(barcode) && luhnSum(barcode) % 10 !== 0;
}

function luhnSum(digits: string): number {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighted = index % 2 === 1 ? 2 * digit : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum;
}
