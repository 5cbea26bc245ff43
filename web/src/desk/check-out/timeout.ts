import { useEffect, useRef, useState } from 'react';

/** Seconds until an idle session ends, and the time at which it ends; undefined without a time limit. */
export function useTimeout(minutes: number | undefined, lastActivity: number, end: () => void): number | undefined {
  const [now, setNow] = useState(() => Date.now());
  const latest = useRef(end);
  latest.current = end;
  useEffect(() => {
    if (minutes === undefined) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [minutes]);
  const remaining = minutes === undefined ? undefined : secondsLeft(minutes, lastActivity, now);
  useEffect(() => {
    if (remaining === 0) latest.current();
  }, [remaining]);
  return remaining;
}

export function secondsLeft(minutes: number, lastActivity: number, now: number): number {
  return Math.max(0, Math.ceil((lastActivity + minutes * 60_000 - now) / 1000));
}
