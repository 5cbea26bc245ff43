import { describe, expect, it } from 'vitest';
import { histogramOf, parseMetrics, quantile, scanHistogram, since } from './metrics.ts';

const TEXT = `# HELP carrel_request_seconds_bucket Times.
carrel_request_seconds_bucket{module="mod-circulation",le="0.016"} 185
carrel_request_seconds_bucket{module="mod-circulation",le="0.002"} 6
carrel_request_seconds_bucket{module="mod-circulation",le="+Inf"} 200
carrel_request_seconds_bucket{module="mod-users",le="+Inf"} 9
process_resident_memory_bytes 114503680
`;

describe('metrics', () => {
  const samples = parseMetrics(TEXT);
  it('are read with their labels', () => {
    expect(samples).toHaveLength(5);
    expect(samples[4]).toEqual({ name: 'process_resident_memory_bytes', labels: {}, value: 114_503_680 });
  });
  it('tell within which time most calls were answered', () => {
    const histogram = histogramOf(samples, 'mod-circulation');
    expect(histogram).toEqual([[0.002, 6], [0.016, 185], [Infinity, 200]]);
    expect([quantile(histogram, 0.5), quantile(histogram, 0.95), quantile([], 0.95)]).toEqual([0.016, Infinity, undefined]);
  });
  it('are compared with an earlier look, unless the server was restarted', () => {
    expect(since([[1, 5], [Infinity, 9]], [[1, 2], [Infinity, 4]])).toEqual([[1, 3], [Infinity, 5]]);
    expect(since([[1, 1], [Infinity, 2]], [[1, 5], [Infinity, 9]])).toEqual([[1, 1], [Infinity, 2]]);
    expect(since([[1, 1]], undefined)).toEqual([[1, 1]]);
  });
});

it('the times of a kind of scan are those of one tenant', () => {
  const samples = parseMetrics(`carrel_scan_seconds_bucket{tenant="a",scan="check-in",le="0.004"} 9
carrel_scan_seconds_bucket{tenant="a",scan="check-in",le="+Inf"} 10
carrel_scan_seconds_bucket{tenant="b",scan="check-in",le="0.004"} 1
carrel_scan_seconds_bucket{tenant="a",scan="check-out",le="0.004"} 2
`);
  expect(scanHistogram(samples, 'a', 'check-in')).toEqual([[0.004, 9], [Infinity, 10]]);
});
