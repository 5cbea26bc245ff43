/* The opening hours of a service point, one month at a time. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ActionButton, Choice, Loading, Message } from '../../../parts/controls.tsx';
import { FailureMessage } from '../../../parts/listing.tsx';
import { useSession } from '../../../session/session.tsx';
import { today } from '../../../text/dates.ts';
import { currentLanguage, t } from '../../../text/messages.ts';
import { openings } from '../../openings.ts';
import { useServicePoints } from '../../references.ts';
import { ExceptionDialog } from './ExceptionDialog.tsx';
import { Month } from './Month.tsx';
import { monthOf } from '../../../text/month.ts';

const CHANGE = 'calendar.endpoint.calendars.calendarId.put';

export function CalendarPage() {
  const { servicePoint, may } = useSession();
  const servicePoints = useServicePoints();
  const [point, setPoint] = useState(servicePoint?.id ?? '');
  const [month, setMonth] = useState(() => today().slice(0, 7));
  const [chosen, setChosen] = useState<[first: string, last: string]>();
  const queries = useQueryClient();
  const mayChange = may(CHANGE) && point !== '';
  const { first, last, before, next } = monthOf(month);
  const query = useQuery({
    queryKey: ['month', point, month],
    enabled: point !== '',
    queryFn: () => openings(point, first, last),
  });
  const days = new Map(query.data?.map((day) => [day.date, day]));
  const language = currentLanguage();
  const title = new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(new Date(`${first}T00:00Z`));
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
      {query.data && query.data.length === 0 && <Message kind="warning">{t('calendar.none')}</Message>}
      {mayChange && <p className="hint">{t('calendar.howTo')}</p>}
      <Month month={month} title={title} days={days} choose={mayChange ? (from, to) => setChosen([from, to]) : undefined} />
      {chosen && (
        <ExceptionDialog
          servicePointId={point}
          first={chosen[0]}
          last={chosen[1]}
          close={() => setChosen(undefined)}
          saved={() => {
            setChosen(undefined);
            void queries.invalidateQueries({ queryKey: ['month', point] });
            void queries.invalidateQueries({ queryKey: ['calendars-of', point] });
          }}
        />
      )}
    </section>
  );
}
