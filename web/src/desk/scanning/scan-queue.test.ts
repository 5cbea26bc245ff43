import { describe, expect, it } from 'vitest';
import { type Scan, ScanQueue } from './scan-queue.ts';

function setUp(handle: (scan: Scan) => Promise<void> = async () => {}) {
  const clock = { time: 1_000_000 };
  const handled: string[] = [];
  const queue = new ScanQueue(
    async (scan) => {
      await handle(scan);
      handled.push(scan.barcode);
    },
    () => clock.time,
  );
  return { clock, handled, queue };
}

describe('the scan queue', () => {
  it('works on scans one after the other, in the order in which they came', async () => {
    let running = 0;
    const { queue, handled } = setUp(async () => {
      running += 1;
      expect(running).toBe(1);
      await Promise.resolve();
      running -= 1;
    });
    for (const barcode of ['1', '2', '3']) queue.offer(barcode);
    const working = queue.work();
    queue.offer('4');
    void queue.work();
    await working;
    expect(handled).toEqual(['1', '2', '3', '4']);
    expect(queue.isIdle).toBe(true);
  });

  it('goes on after a scan whose handler failed', async () => {
    const { queue, handled } = setUp(async (scan) => {
      if (scan.barcode === 'bad') throw new Error('expected by the test');
    });
    queue.offer('bad');
    queue.offer('good');
    await queue.work();
    expect(handled).toEqual(['good']);
  });

  it('takes the same barcode within two seconds for the same scan', () => {
    const { queue, clock } = setUp();
    expect(queue.offer('39').admitted).toBe(true);
    clock.time += 1_999;
    expect(queue.offer(' 39 ')).toEqual({ admitted: false, reason: 'repeated' });
    clock.time += 1;
    expect(queue.offer('39').admitted).toBe(true);
  });

  it('does not take another barcode in between for a repetition', () => {
    const { queue } = setUp();
    expect(queue.offer('a').admitted).toBe(true);
    expect(queue.offer('b').admitted).toBe(true);
    expect(queue.offer('a').admitted).toBe(false);
  });

  it('refuses blanks and trims the rest', () => {
    const { queue } = setUp();
    expect(queue.offer('   ')).toEqual({ admitted: false, reason: 'blank' });
    const offered = queue.offer('\t390000001 ');
    expect(offered.admitted && offered.scan.barcode).toBe('390000001');
  });
});
