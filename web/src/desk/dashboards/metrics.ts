/* Parses the server's Prometheus metrics that the operators' dashboard shows. */

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function parseMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) return [];
    const labels = Object.fromEntries([...(match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map((label) => [label[1] ?? '', label[2] ?? '']));
    return [{ name: match[1] ?? '', labels, value: Number(match[3]) }];
  });
}

/** Cumulative number of calls of a module for each bound of its histogram. */
export type Histogram = [seconds: number, calls: number][];

export function histogramOf(samples: readonly Sample[], module: string): Histogram {
  return bounded(samples.filter((one) => one.name === 'carrel_request_seconds_bucket' && one.labels['module'] === module));
}

/** The same for one kind of scan of a tenant. */
export function scanHistogram(samples: readonly Sample[], tenant: string, scan: string): Histogram {
  return bounded(samples.filter(({ name, labels }) => name === 'carrel_scan_seconds_bucket' && labels['tenant'] === tenant && labels['scan'] === scan));
}

function bounded(buckets: readonly Sample[]): Histogram {
  return buckets
    .map((one): [number, number] => [one.labels['le'] === '+Inf' ? Infinity : Number(one.labels['le']), one.value])
    .sort(([one], [other]) => one - other);
}

/** The increase since an earlier reading; the full value after a restart of the server. */
export function since(now: Histogram, before: Histogram | undefined): Histogram {
  const earlier = new Map(before);
  const restarted = now.some(([bound, calls]) => calls < (earlier.get(bound) ?? 0));
  return restarted ? now : now.map(([bound, calls]) => [bound, calls - (earlier.get(bound) ?? 0)]);
}

/** The quantile as a bucket bound in seconds; undefined without calls. */
export function quantile(histogram: Histogram, part: number): number | undefined {
  const total = histogram.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  return histogram.find(([, calls]) => calls >= total * part)?.[0];
}
