/* Amounts as whole cents: sums of the API's decimal numbers would not be exact. */

/** Converts an amount of the API to cents. */
export function centsOf(amount: number | string | null | undefined): number {
  const cents = Math.round(Number(amount ?? 0) * 100);
  return Number.isFinite(cents) ? cents : 0;
}

/** Parses typed text, with a point or a comma, to cents; undefined if it is not an amount. */
export function parseCents(text: string): number | undefined {
  const match = /^(\d{1,9})(?:[.,](\d{1,2}))?$/.exec(text.trim());
  if (!match) return undefined;
  return Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
}

/** Formats cents as the API expects them, for instance `2.50`. */
export function amountText(cents: number): string {
  return `${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}
