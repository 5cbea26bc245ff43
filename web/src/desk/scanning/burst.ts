/*
 * Distinguishes a barcode reader from typing: a reader sends at least four characters and Enter with at most 60 ms
 * between two keys.
 */
export const LONGEST_GAP_MS = 60;
export const SHORTEST_SCAN = 4;

export class BurstDetector {
  #text = '';
  #last = Number.NEGATIVE_INFINITY;

  /** The whole barcode when the key was the Enter that ends a scan. */
  press(key: string, at: number): string | undefined {
    if (key === 'Shift') return undefined;
    const fast = at - this.#last <= LONGEST_GAP_MS;
    this.#last = at;
    if (key === 'Enter') {
      const text = this.#text;
      this.#text = '';
      return fast && text.length >= SHORTEST_SCAN ? text : undefined;
    }
    if (key.length !== 1) this.#text = '';
    else this.#text = fast ? this.#text + key : key;
    return undefined;
  }

  /** The characters of a burst that is not finished. */
  get pending(): string {
    return this.#text;
  }
}
