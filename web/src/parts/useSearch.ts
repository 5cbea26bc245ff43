import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { replaceSearch, useRoute } from '../layout/route.ts';

/** A value of the address's search part, which survives a reload and can be shared as a link. */
export function useSearchValue(name: string, standard = ''): [string, (value: string) => void] {
  const { search } = useRoute();
  const value = search.get(name) ?? standard;
  return [
    value,
    (wanted) => replaceSearch({ ...Object.fromEntries(search), offset: '', [name]: wanted === standard ? '' : wanted }),
  ];
}

/** The debounced value. */
export function useSettled<T>(value: T, ms = 200): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

export const PAGE_SIZE = 50;

/** A page of a list; the previous page stays visible while the next is loaded. */
export function useList<T>(key: unknown[], load: (offset: number, signal: AbortSignal) => Promise<T>, enabled = true) {
  const { search } = useRoute();
  const offset = Number(search.get('offset') ?? 0) || 0;
  const query = useQuery({
    queryKey: [...key, offset],
    queryFn: ({ signal }) => load(offset, signal),
    placeholderData: (previous) => previous,
    enabled,
  });
  return {
    ...query,
    offset,
    goTo: (wanted: number) => replaceSearch({ ...Object.fromEntries(search), offset: wanted === 0 ? '' : String(wanted) }),
  };
}
