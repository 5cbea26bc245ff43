import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { OpeningDay } from '../api/bodies.ts';
import { get, withQuery } from '../api/client.ts';
import { Field } from '../parts/controls.tsx';
import { today } from '../text/dates.ts';
import { t } from '../text/messages.ts';

interface Props {
  value: string;
  onChange: (value: string) => void;
  servicePointId: string;
  autoFocus?: boolean;
}

/** A due date on the tenant's wall, with a word when the service point is closed on that day. */
export function DueDateField({ value, onChange, servicePointId, autoFocus = false }: Props) {
  const day = value.slice(0, 10);
  const query = useQuery({
    queryKey: ['openings', servicePointId, day],
    enabled: day.length === 10 && servicePointId !== '',
    staleTime: 600_000,
    queryFn: () =>
      get<{ dates: OpeningDay[] }>(
        withQuery(`/calendar/dates/${servicePointId}/all-openings`, { startDate: day, endDate: day, includeClosed: 'true', limit: 1 }),
      ),
  });
  const opening = query.data?.dates[0];
  let hint: ReactNode;
  if (day < today()) hint = <span className="hint-warning">{t('dueDate.past')}</span>;
  else if (opening && !opening.open) hint = <span className="hint-warning">{t('dueDate.closed')}</span>;
  else if (opening?.allDay) hint = t('dueDate.openAllDay');
  else if (opening) hint = t('dueDate.open', { hours: opening.openings.map((one) => `${one.startTime.slice(0, 5)}–${one.endTime.slice(0, 5)}`).join(', ') });
  return <Field type="datetime-local" label={t('dueDate.label')} value={value} onChange={onChange} autoFocus={autoFocus} hint={hint} isRequired />;
}
