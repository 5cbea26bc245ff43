/* An exception in a calendar: days that are closed, or have other opening hours than usual. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ActionButton, Choice, Field, Message } from '../../../parts/controls.tsx';
import { EditPrompt } from '../../../parts/EditPrompt.tsx';
import { FailureMessage } from '../../../parts/listing.tsx';
import { formatDay } from '../../../text/dates.ts';
import { t } from '../../../text/messages.ts';
import { calendarFor, calendarsOf, type Exception, exceptionOf, saveExceptions } from './calendar-api.ts';
import { daysBetween } from '../../../text/month.ts';

interface Props {
  servicePointId: string;
  first: string;
  last: string;
  close: () => void;
  saved: () => void;
}

export function ExceptionDialog({ servicePointId, first, last, close, saved }: Props) {
  const [from, setFrom] = useState(first);
  const [to, setTo] = useState(last);
  const [name, setName] = useState('');
  const [state, setState] = useState<'closed' | 'open'>('closed');
  const [hours, setHours] = useState({ from: '10:00', to: '16:00' });
  const [error, setError] = useState<unknown>();
  const query = useQuery({ queryKey: ['calendars-of', servicePointId], queryFn: () => calendarsOf(servicePointId) });
  const calendar = query.data && calendarFor(query.data, from, to);
  const present = calendar?.exceptions.filter((one) => one.startDate <= to && from <= one.endDate) ?? [];
  const why =
    from > to ? t('calendar.wrongOrder')
    : query.isLoading ? t('loading')
    : !calendar ? t('calendar.noCalendar')
    : present.length > 0 ? t('calendar.hasException')
    : name.trim() === '' ? t('calendar.needsName')
    : state === 'open' && hours.from >= hours.to ? t('calendar.wrongOrder')
    : undefined;

  async function save() {
    if (!calendar) return;
    const added = exceptionOf(name.trim(), daysBetween(from, to), state === 'open' ? hours : undefined);
    await saveExceptions(calendar, [...calendar.exceptions, added]);
  }

  function remove(exception: Exception) {
    if (!calendar) return;
    saveExceptions(calendar, calendar.exceptions.filter((one) => one !== exception)).then(saved, setError);
  }

  return (
    <EditPrompt title={t('calendar.exceptionTitle')} why={why} save={save} saved={saved} close={close}>
      {query.error && <FailureMessage error={query.error} />}
      {error !== undefined && <FailureMessage error={error} />}
      {query.data && !calendar && <Message kind="warning">{t('calendar.noCalendar')}</Message>}
      {calendar && calendar.assignments.length > 1 && <p className="hint">{t('calendar.shared', { name: calendar.name, count: calendar.assignments.length })}</p>}
      {present.map((one) => (
        <p key={one.startDate} className="exception">
          <span>
            <strong>{one.name}</strong> {one.startDate === one.endDate ? formatDay(one.startDate) : `${formatDay(one.startDate)} – ${formatDay(one.endDate)}`}
          </span>
          <ActionButton variant="danger" onPress={() => remove(one)}>
            {t('calendar.removeException')}
          </ActionButton>
        </p>
      ))}
      <Field label={t('calendar.exceptionName')} value={name} onChange={setName} autoFocus isRequired />
      <div className="form-grid">
        <Field type="date" label={t('calendar.firstDay')} value={from} onChange={setFrom} isRequired />
        <Field type="date" label={t('calendar.lastDay')} value={to} onChange={setTo} isRequired />
      </div>
      <Choice
        label={t('calendar.state')}
        value={state}
        onChange={(value) => setState(value === 'open' ? 'open' : 'closed')}
        options={[
          { value: 'closed', label: t('calendar.closed') },
          { value: 'open', label: t('calendar.otherHours') },
        ]}
      />
      {state === 'open' && (
        <div className="form-grid">
          <Field type="time" label={t('calendar.opens')} value={hours.from} onChange={(from) => setHours((all) => ({ ...all, from }))} isRequired />
          <Field type="time" label={t('calendar.closes')} value={hours.to} onChange={(to) => setHours((all) => ({ ...all, to }))} isRequired />
        </div>
      )}
    </EditPrompt>
  );
}
