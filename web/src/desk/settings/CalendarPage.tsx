/* When a service point is open, a month at a time. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, withQuery } from '../../api/client.ts';
import type { OpeningDay } from '../../api/bodies.ts';
import { ActionButton, Choice, Loading, Message } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { today } from '../../text/dates.ts';
import { currentLanguage, t } from '../../text/messages.ts';
import { useServicePoints } from '../references.ts';
import { monthOf, weeksOf } from './month.ts';

export function CalendarPage() {
  const { servicePoint } = useSession();
  const servicePoints = useServicePoints();
  const [point, setPoint] = useState(servicePoint?.id ?? '');
  const [month, setMonth] = useState(() => today().slice(0, 7));
  const { first, last, before, next } = monthOf(month);
  const query = useQuery({
    queryKey: ['month', point, month],
    enabled: point !== '',
    queryFn: () =>
      get<{ dates: OpeningDay[] }>(withQuery(`/calendar/dates/${point}/all-openings`, { startDate: first, endDate: last, includeClosed: 'true', limit: 31 })),
  });
  const days = new Map(query.data?.dates.map((day) => [day.date, day]));
  const language = currentLanguage();
  const title = new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(new Date(`${first}T00:00Z`));
  const weekday = new Intl.DateTimeFormat(language, { weekday: 'short', timeZone: 'UTC' });
  const weeks = weeksOf(month);
  return (
    <section className="card" aria-labelledby="month-title">
      <header>
        <h2 id="month-title" aria-live="polite">
          {title}
        </h2>
        <div className="filters">
          <Choice label={t('servicePoint.title')} value={point} onChange={setPoint} options={[...servicePoints].map(([value, label]) => ({ value, label }))} />
          <ActionButton onPress={() => setMonth(before)}>{t('pager.before')}</ActionButton>
          <ActionButton onPress={() => setMonth(today().slice(0, 7))}>{t('calendar.thisMonth')}</ActionButton>
          <ActionButton onPress={() => setMonth(next)}>{t('pager.next')}</ActionButton>
        </div>
      </header>
      {query.error && <FailureMessage error={query.error} />}
      {query.isLoading && <Loading />}
      {query.data && query.data.dates.length === 0 && <Message kind="warning">{t('calendar.none')}</Message>}
      <div className="table-frame" role="group" aria-label={title} tabIndex={0}>
        <table className="month">
          <thead>
            <tr>
              {(weeks[0] ?? []).map((date) => (
                <th key={date} scope="col">
                  {weekday.format(new Date(`${date}T00:00Z`))}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {weeks.map((week) => (
              <tr key={week[0]}>
                {week.map((date) => {
                  const day = days.get(date);
                  const inMonth = date.startsWith(month);
                  return (
                    <td key={date} className={!inMonth ? 'other' : day?.open ? 'open' : 'closed'} aria-current={date === today() ? 'date' : undefined}>
                      {inMonth && (
                        <>
                          <strong>{Number(date.slice(8))}</strong>
                          <span>{day && hours(day)}</span>
                          {day?.exceptional && <span className="hint">{day.exceptionName ?? t('calendar.exception')}</span>}
                        </>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function hours(day: OpeningDay): string {
  if (!day.open) return t('calendar.closed');
  if (day.allDay) return t('calendar.allDay');
  return day.openings.map((one) => `${one.startTime.slice(0, 5)}–${one.endTime.slice(0, 5)}`).join(', ');
}
