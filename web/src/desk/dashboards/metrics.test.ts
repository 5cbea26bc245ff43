import { describe, expect, it } from 'vitest';
import { histogramOf, parseMetrics, quantile, since } from './metrics.ts';

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
