/*
 * Queues scans while an earlier one is processed, so that none is lost. A barcode that repeats within two seconds of
 * being admitted is the same scan: a reader repeats an item that stays in its beam.
 */
export interface Scan {
  id: number;
  barcode: string;
  /** When it was scanned, in milliseconds since 1970. */
  at: number;
}

export type Offered = { admitted: true; scan: Scan } | { admitted: false; reason: 'blank' | 'repeated' };

export const SAME_SCAN_MS = 2_000;

export class ScanQueue {
  #waiting: Scan[] = [];
  #working = false;
  #lastAdmitted = new Map<string, number>();
  #nextId = 1;
  readonly #handle: (scan: Scan) => Promise<void>;
  readonly #now: () => number;

  /** The handler must handle errors of a scan; if it throws, the error is reported and the next scan is processed. */
  constructor(handle: (scan: Scan) => Promise<void>, now: () => number = Date.now) {
    this.#handle = handle;
    this.#now = now;
  }

  offer(text: string): Offered {
    const barcode = text.trim();
    if (barcode === '') return { admitted: false, reason: 'blank' };
    const at = this.#now();
    const last = this.#lastAdmitted.get(barcode);
    if (last !== undefined && at - last < SAME_SCAN_MS) return { admitted: false, reason: 'repeated' };
    this.#forgetBefore(at - SAME_SCAN_MS);
    this.#lastAdmitted.set(barcode, at);
    const scan = { id: this.#nextId++, barcode, at };
    this.#waiting.push(scan);
    return { admitted: true, scan };
  }

  /** Starts processing unless it is running; call it after the scan's row is shown. */
  async work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    try {
      for (let scan = this.#waiting.shift(); scan; scan = this.#waiting.shift()) {
        try {
          await this.#handle(scan);
        } catch (error) {
          console.error(error);
        }
      }
    } finally {
      this.#working = false;
    }
  }

  /** After this, a repeated barcode is a new scan, because it concerns another patron. */
  forgetRepetitions(): void {
    this.#lastAdmitted.clear();
  }

  get isIdle(): boolean {
    return !this.#working && this.#waiting.length === 0;
  }

  /** Number of queued scans, without the one in progress. */
  get waiting(): number {
    return this.#waiting.length;
  }

  #forgetBefore(time: number): void {
    for (const [barcode, at] of this.#lastAdmitted) if (at < time) this.#lastAdmitted.delete(barcode);
  }
}
