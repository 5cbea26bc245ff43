import type { ReactNode } from 'react';
import { Field } from '../parts/controls.tsx';
import { today } from '../text/dates.ts';
import { t } from '../text/messages.ts';
import { monthOf } from '../text/month.ts';
import { DayChoice } from './DayChoice.tsx';
import { useOpenings } from './openings.ts';

interface Props {
  /** Local time in the format of `<input type="datetime-local">`. */
  value: string;
  onChange: (value: string) => void;
  servicePointId: string;
  autoFocus?: boolean;
}

/** A due date in the tenant's time zone, typed or chosen from a month, with the opening hours of that day. */
export function DueDateField({ value, onChange, servicePointId, autoFocus = false }: Props) {
  const day = value.slice(0, 10);
  const { first, last } = monthOf(day === '' ? today().slice(0, 7) : day.slice(0, 7));
  const opening = useOpenings(servicePointId, first, last).get(day);
  let hint: ReactNode;
  if (day < today()) hint = <span className="hint-warning">{t('dueDate.past')}</span>;
  else if (opening && !opening.open) hint = <span className="hint-warning">{t('dueDate.closed')}</span>;
  else if (opening?.allDay) hint = t('dueDate.openAllDay');
  else if (opening) hint = t('dueDate.open', { hours: opening.openings.map((one) => `${one.startTime.slice(0, 5)}–${one.endTime.slice(0, 5)}`).join(', ') });
  return (
    <>
      <Field type="datetime-local" label={t('dueDate.label')} value={value} onChange={onChange} autoFocus={autoFocus} hint={hint} isRequired />
      <DayChoice day={day === '' ? today() : day} servicePointId={servicePointId} choose={(chosen) => onChange(`${chosen}T${value.slice(11) || '23:59'}`)} />
    </>
  );
}
