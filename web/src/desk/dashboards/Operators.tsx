/* Server performance for operators, refreshed every few seconds while the page is open. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { get } from '../../api/client.ts';
import { Loading } from '../../parts/controls.tsx';
import { Facts, FailureMessage, Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDateTime, formatTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { type Histogram, histogramOf, parseMetrics, quantile, type Sample, scanHistogram, since } from './metrics.ts';

const EVERY_MS = 5_000;
const SCANS = 'mod-circulation';
/** Of the waits that the server remembers. */
const SHOWN_WAITS = 20;

interface Locks {
  checkOuts: number;
  waits: number;
  longestMilliseconds: number;
  waitingNow: number;
  /** The last waits, oldest first. */
  last: { at: string; milliseconds: number; userBarcode?: string; itemBarcode?: string }[];
}
interface Job {
  name: string;
  due: string;
  runs: number;
  failures: number;
  runningOn: string | null;
  ended: string | null;
  outcome: string | null;
  failed: boolean;
}
interface Statement {
  statement: string;
  calls: number;
  totalMilliseconds: number;
  meanMilliseconds: number;
  longestMilliseconds: number;
}
interface MissingIndex {
  record: string;
  field: string;
  relation: string;
  queries: number;
}

function useAdmin<T>(path: string, load: () => Promise<T>) {
  return useQuery({ queryKey: ['admin', path], queryFn: load, refetchInterval: EVERY_MS });
}

const milliseconds = (seconds: number | undefined) => (seconds === undefined ? '–' : seconds === Infinity ? t('dashboard.overLongest') : t('dashboard.atMost', { milliseconds: Math.round(seconds * 1000) }));

const isSameReader = (one: Sample, other: Sample) => one.labels['tenant'] === other.labels['tenant'] && one.labels['reader'] === other.labels['reader'];

export function Operators() {
  const metrics = useAdmin('metrics', () => get<string>('/metrics').then(parseMetrics));
  const locks = useAdmin('locks', () => get<Locks>('/admin/check-out-locks'));
  const jobs = useAdmin('jobs', () => get<{ jobs: Job[] }>('/admin/jobs'));
  const statements = useAdmin('statements', () => get<{ statements: Statement[]; reason?: string }>('/admin/slow-statements?limit=10'));
  const missing = useAdmin('missing', () => get<{ missingIndexes: MissingIndex[] }>('/admin/missing-indexes'));
  if (metrics.error) return <FailureMessage error={metrics.error} />;
  if (!metrics.data) return <Loading />;
  const samples = metrics.data;
  const replicas = samples.filter((one) => one.name === 'carrel_replica_in_use');
  const ages = samples.filter((one) => one.name === 'carrel_oldest_unread_event_seconds');
  const unread = (age: Sample) => samples.find((one) => one.name === 'carrel_unread_events' && isSameReader(one, age))?.value ?? 0;
  return (
    <>
      <p className="hint">{t('dashboard.everySeconds', { seconds: EVERY_MS / 1000 })}</p>
      <div className="columns">
        <section className="card" aria-labelledby="scan-times">
          <h2 id="scan-times">{t('dashboard.circulationCalls')}</h2>
          <ScanTimes samples={metrics.data} />
        </section>
        <section className="card" aria-labelledby="lock-waits">
          <h2 id="lock-waits">{t('dashboard.lockWaits')}</h2>
          {locks.error ? <FailureMessage error={locks.error} /> : (
            <Facts
              facts={[
                [t('dashboard.waitingNow'), String(locks.data?.waitingNow ?? 0)],
                [t('dashboard.checkOut'), String(locks.data?.checkOuts ?? 0)],
                [t('dashboard.waited'), String(locks.data?.waits ?? 0)],
                [t('dashboard.longestWait'), t('dashboard.ms', { milliseconds: Math.round(locks.data?.longestMilliseconds ?? 0) })],
              ]}
            />
          )}
        </section>
      </div>
      <section className="card" aria-labelledby="last-waits">
        <h2 id="last-waits">{t('dashboard.lastWaits')}</h2>
        <Listing
          label={t('dashboard.lastWaits')}
          rows={locks.data && [...locks.data.last].reverse().slice(0, SHOWN_WAITS)}
          isLoading={locks.isLoading}
          error={undefined}
          empty={t('dashboard.noneWaited')}
          rowKey={(one) => `${one.at} ${one.itemBarcode ?? ''}`}
          columns={[
            { title: t('dashboard.at'), cell: (one) => formatDateTime(one.at), className: 'due' },
            { title: t('dashboard.waitedMs'), cell: (one) => one.milliseconds, className: 'money' },
            { title: t('patron.panel'), cell: (one) => one.userBarcode, className: 'digits' },
            { title: t('loan.item'), cell: (one) => one.itemBarcode, className: 'digits' },
          ]}
        />
      </section>
      <section className="card" aria-labelledby="replicas">
        <h2 id="replicas">{t('dashboard.replicas')}</h2>
        <Listing
          label={t('dashboard.replicas')}
          rows={replicas}
          isLoading={false}
          error={undefined}
          empty={t('dashboard.noReplicas')}
          rowKey={(one) => JSON.stringify(one.labels)}
          columns={[
            { title: t('column.name'), cell: (one) => one.labels['server'] ?? one.labels['replica'] ?? '' },
            { title: t('column.status'), cell: (one) => t(one.value === 1 ? 'dashboard.replicaInUse' : 'dashboard.replicaLeftAlone') },
            { title: t('dashboard.bytesBehind'), cell: (one) => behindOf(metrics.data, one), className: 'money' },
          ]}
        />
      </section>
      <section className="card" aria-labelledby="event-readers">
        <h2 id="event-readers">{t('dashboard.eventReaders')}</h2>
        <Listing
          label={t('dashboard.eventReaders')}
          rows={ages}
          isLoading={false}
          error={undefined}
          empty={t('search.nothing')}
          rowKey={(one) => JSON.stringify(one.labels)}
          columns={[
            { title: t('column.name'), cell: (one) => one.labels['reader'] ?? '' },
            { title: t('dashboard.unreadEvents'), cell: unread, className: 'money' },
            { title: t('dashboard.oldestUnread'), cell: (one) => t('dashboard.seconds', { seconds: Math.round(one.value) }), className: 'money' },
          ]}
        />
      </section>
      <section className="card" aria-labelledby="jobs">
        <h2 id="jobs">{t('dashboard.jobs')}</h2>
        <Listing
          label={t('dashboard.jobs')}
          rows={jobs.data?.jobs}
          isLoading={jobs.isLoading}
          error={jobs.error}
          empty={t('search.nothing')}
          rowKey={(job) => job.name}
          columns={[
            { title: t('column.name'), cell: (job) => job.name },
            { title: t('dashboard.due'), cell: (job) => formatTime(job.due) },
            { title: t('dashboard.lastRun'), cell: (job) => formatDateTime(job.ended ?? undefined) },
            { title: t('dashboard.outcome'), cell: (job) => <span className={job.failed ? 'overdue' : ''}>{job.runningOn ? t('dashboard.running') : job.outcome}</span> },
            { title: t('dashboard.failures'), cell: (job) => `${job.failures} / ${job.runs}`, className: 'money' },
          ]}
        />
      </section>
      <section className="card" aria-labelledby="statements">
        <h2 id="statements">{t('dashboard.slowStatements')}</h2>
        <Listing
          label={t('dashboard.slowStatements')}
          rows={statements.data?.statements}
          isLoading={statements.isLoading}
          error={statements.error}
          empty={statements.data?.reason ?? t('search.nothing')}
          rowKey={(one) => one.statement}
          columns={[
            { title: t('dashboard.statement'), cell: (one) => <code className="fql">{one.statement.replace(/\s+/g, ' ').slice(0, 200)}</code> },
            { title: t('dashboard.calls'), cell: (one) => one.calls, className: 'money' },
            { title: t('dashboard.total'), cell: (one) => Math.round(one.totalMilliseconds), className: 'money' },
            { title: t('dashboard.mean'), cell: (one) => one.meanMilliseconds.toFixed(2), className: 'money' },
            { title: t('dashboard.longest'), cell: (one) => one.longestMilliseconds.toFixed(1), className: 'money' },
          ]}
        />
      </section>
      <section className="card" aria-labelledby="missing-indexes">
        <h2 id="missing-indexes">{t('dashboard.missingIndexes')}</h2>
        <Listing
          label={t('dashboard.missingIndexes')}
          rows={missing.data?.missingIndexes}
          isLoading={missing.isLoading}
          error={missing.error}
          empty={t('dashboard.noneMissing')}
          rowKey={(one) => `${one.record} ${one.field} ${one.relation}`}
          columns={[
            { title: t('dashboard.record'), cell: (one) => one.record },
            { title: t('lists.field'), cell: (one) => one.field },
            { title: t('lists.operator'), cell: (one) => one.relation },
            { title: t('dashboard.queries'), cell: (one) => one.queries, className: 'money' },
          ]}
        />
      </section>
    </>
  );
}

/** Bytes of the WAL that a replica has yet to replay. */
function behindOf(samples: readonly Sample[], replica: Sample): string | undefined {
  const key = JSON.stringify(replica.labels);
  return samples.find((one) => one.name === 'carrel_replica_bytes_behind' && JSON.stringify(one.labels) === key)?.value.toLocaleString();
}

/** The kinds of scans that the server times, with their names here. */
const SCAN_KINDS = [['check-out', 'dashboard.checkOut'], ['check-in', 'dashboard.checkIn'], ['renewal', 'dashboard.renewal']] as const;

/** Response times of circulation calls since the page was opened, and since the server started. */
function ScanTimes({ samples }: { samples: readonly Sample[] }) {
  const now = histogramOf(samples, SCANS);
  const first = useRef<Histogram>(undefined);
  const [opened, setOpened] = useState<Histogram>();
  useEffect(() => {
    if (first.current) return;
    first.current = now;
    setOpened(now);
  }, [now]);
  const here = since(now, opened);
  const { tenant } = useSession();
  return (
    <Facts
      facts={[
        ...SCAN_KINDS.map(([scan, label]): [string, string] => {
          const histogram = scanHistogram(samples, tenant, scan);
          return [t('dashboard.p95Of', { what: t(label) }), t('dashboard.ofScans', { time: milliseconds(quantile(histogram, 0.95)), scans: histogram.at(-1)?.[1] ?? 0 })];
        }),
        [t('dashboard.p95Here'), milliseconds(quantile(here, 0.95))],
        [t('dashboard.callsHere'), String(here.at(-1)?.[1] ?? 0)],
        [t('dashboard.p50All'), milliseconds(quantile(now, 0.5))],
        [t('dashboard.p95All'), milliseconds(quantile(now, 0.95))],
      ]}
    />
  );
}
