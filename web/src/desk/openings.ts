/* The opening hours of a service point by day. */
import { useQuery } from '@tanstack/react-query';
import type { OpeningDay } from '../api/bodies.ts';
import { get, withQuery } from '../api/client.ts';

/** The days from the first to the last, at most a month, including those on which the service point is closed. */
export function openings(servicePointId: string, first: string, last: string): Promise<OpeningDay[]> {
  const path = withQuery(`/calendar/dates/${servicePointId}/all-openings`, { startDate: first, endDate: last, includeClosed: 'true', limit: 31 });
  return get<{ dates: OpeningDay[] }>(path).then(({ dates }) => dates);
}

/** The same by date; empty until they are loaded. */
export function useOpenings(servicePointId: string, first: string, last: string): ReadonlyMap<string, OpeningDay> {
  const query = useQuery({
    queryKey: ['openings', servicePointId, first, last],
    enabled: servicePointId !== '' && first.length === 10 && last.length === 10,
    staleTime: 600_000,
    queryFn: () => openings(servicePointId, first, last),
  });
  return new Map(query.data?.map((day) => [day.date, day]));
}
