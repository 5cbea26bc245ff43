/* Figures that the server pushes while a dashboard is open. */
import { useEffect, useState } from 'react';

export type Kind = 'checkOut' | 'checkIn' | 'renewal';
export const KINDS: readonly Kind[] = ['checkOut', 'checkIn', 'renewal'];

export interface Quarter {
  start: string;
  kind: Kind;
  servicePointId?: string | null;
  number: number;
}

export interface OpenRequests {
  requestType: string;
  status: string;
  pickupServicePointId?: string | null;
  number: number;
  expiredOnHoldShelf: number;
}

/** Check-outs that were refused within a quarter hour. */
export interface Refused {
  start: string;
  /** The name of a block, or a code. */
  reason: string;
  number: number;
}

export interface Figures {
  at: string;
  quarters: Quarter[];
  openLoans: number;
  overdueLoans: number;
  requests: OpenRequests[];
  /** Items that are in transit for more than three days, by destination. */
  longTransits: { servicePointId?: string | null; number: number }[];
  /** Of the last 24 hours. */
  noticesSent: number;
  noticesFailed: number;
  refusals: Refused[];
}

export const AWAITING_PICKUP = 'Open - Awaiting pickup';
const QUARTER_MS = 900_000;

export interface Bar {
  /** The start of the quarter hour. */
  start: Date;
  counts: Record<Kind, number>;
}

/** One bar for each quarter hour from the start of the day until now, including empty ones. */
export function barsOf(quarters: readonly Quarter[], from: Date, until: Date, servicePointId: string): Bar[] {
  const bars: Bar[] = [];
  const first = Math.floor(from.getTime() / QUARTER_MS) * QUARTER_MS;
  for (let time = first; time <= until.getTime(); time += QUARTER_MS) bars.push({ start: new Date(time), counts: { checkOut: 0, checkIn: 0, renewal: 0 } });
  for (const { start, kind, number, servicePointId: at } of quarters) {
    if (servicePointId !== '' && at !== servicePointId) continue;
    const bar = bars[Math.floor((new Date(start).getTime() - first) / QUARTER_MS)];
    if (bar) bar.counts[kind] += number;
  }
  return bars;
}

export const totalOf = (bars: readonly Bar[], kind: Kind) => bars.reduce((sum, bar) => sum + bar.counts[kind], 0);

/** The bars summed by hour, for the table. */
export function hoursOf(bars: readonly Bar[]): Bar[] {
  const hours: Bar[] = [];
  for (const bar of bars) {
    const last = hours.at(-1);
    if (last && bar.start.getTime() - last.start.getTime() < 4 * QUARTER_MS) for (const kind of KINDS) last.counts[kind] += bar.counts[kind];
    else hours.push({ start: bar.start, counts: { ...bar.counts } });
  }
  return hours;
}

/** Refused check-outs since an instant by reason, most frequent first. */
export function refusalsSince(refusals: readonly Refused[], from: Date): [reason: string, number: number][] {
  const counts = new Map<string, number>();
  for (const { start, reason, number } of refusals) {
    if (new Date(start).getTime() >= from.getTime()) counts.set(reason, (counts.get(reason) ?? 0) + number);
  }
  return [...counts].sort(([one, less], [other, more]) => more - less || one.localeCompare(other));
}

export interface RequestTotals {
  byType: [type: string, number: number][];
  byStatus: [status: string, number: number][];
  awaitingPickup: number;
  expiredOnHoldShelf: number;
  total: number;
}

/** Open requests by type and status, at one pickup service point or in total. */
export function requestTotals(requests: readonly OpenRequests[], servicePointId: string): RequestTotals {
  const here = requests.filter((one) => servicePointId === '' || one.pickupServicePointId === servicePointId);
  const sums = (key: (one: OpenRequests) => string): [string, number][] => {
    const found = new Map<string, number>();
    for (const one of here) found.set(key(one), (found.get(key(one)) ?? 0) + one.number);
    return [...found].sort(([one], [other]) => one.localeCompare(other));
  };
  return {
    byType: sums((one) => one.requestType),
    byStatus: sums((one) => one.status),
    awaitingPickup: here.filter((one) => one.status === AWAITING_PICKUP).reduce((sum, one) => sum + one.number, 0),
    expiredOnHoldShelf: here.reduce((sum, one) => sum + one.expiredOnHoldShelf, 0),
    total: here.reduce((sum, one) => sum + one.number, 0),
  };
}

/** The latest figures. The browser reconnects by itself when the server ends the stream or restarts. */
export function useLiveFigures(): { figures: Figures | undefined; connected: boolean } {
  const [figures, setFigures] = useState<Figures>();
  const [connected, setConnected] = useState(false);
  useEffect(() => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    function open() {
      source = new EventSource('/circulation/live');
      source.onopen = () => setConnected(true);
      source.onerror = () => {
        setConnected(false);
        // The browser does not reconnect if the response was not a stream, for instance while the token is renewed.
        if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, 5_000);
      };
      source.addEventListener('figures', (event) => setFigures(JSON.parse((event as MessageEvent<string>).data) as Figures));
    }
    open();
    return () => {
      clearTimeout(timer);
      source?.close();
    };
  }, []);
  return { figures, connected };
}
