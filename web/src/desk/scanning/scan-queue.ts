/*
 * Scans wait here while an earlier one is being worked on, so that none is lost. A barcode that comes again within two
 * seconds of being admitted is the same scan: readers repeat themselves when an item stays under the beam.
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

  /** The handler must settle every scan itself; one that throws is reported and the next scan goes on. */
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

  /** Starts working, unless that is under way; to be called once the scan's row is shown. */
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

  /** The next scan of any barcode is a new event, as it concerns another patron. */
  forgetRepetitions(): void {
    this.#lastAdmitted.clear();
  }

  get isIdle(): boolean {
    return !this.#working && this.#waiting.length === 0;
  }

  /** How many scans wait behind the one that is worked on. */
  get waiting(): number {
    return this.#waiting.length;
  }

  #forgetBefore(time: number): void {
    for (const [barcode, at] of this.#lastAdmitted) if (at < time) this.#lastAdmitted.delete(barcode);
  }
}
