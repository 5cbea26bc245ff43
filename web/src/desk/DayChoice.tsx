/* The days of a month to choose a due date from. Days on which the service point is closed are gray. */
import { type KeyboardEvent, useRef, useState } from 'react';
import type { OpeningDay } from '../api/bodies.ts';
import { ActionButton } from '../parts/controls.tsx';
import { today } from '../text/dates.ts';
import { currentLanguage, t } from '../text/messages.ts';
import { dayAfter, monthOf, weeksOf } from '../text/month.ts';
import { useOpenings } from './openings.ts';

interface Props {
  /** The chosen day; the month shown at first is its month. */
  day: string;
  choose: (day: string) => void;
  servicePointId: string;
}

/** Days from the focused one, by key. */
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

export function DayChoice({ day, choose, servicePointId }: Props) {
  const [turnedTo, setTurnedTo] = useState<string>();
  const month = turnedTo ?? day.slice(0, 7);
  const { first, last, before, next } = monthOf(month);
  const days = useOpenings(servicePointId, first, last);
  const table = useRef<HTMLTableElement>(null);
  const language = currentLanguage();
  const title = new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(new Date(`${first}T00:00Z`));
  const weekday = new Intl.DateTimeFormat(language, { weekday: 'short', timeZone: 'UTC' });
  const whole = new Intl.DateTimeFormat(language, { dateStyle: 'full', timeZone: 'UTC' });
  const weeks = weeksOf(month);
  // One day takes part in the order of Tab; arrows reach the others.
  const current = day.startsWith(month) ? day : first;

  function pressed(event: KeyboardEvent, date: string) {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const isMirrored = document.documentElement.dir === 'rtl' && Math.abs(step) === 1;
    const target = dayAfter(date, isMirrored ? -step : step);
    const focus = () => table.current?.querySelector<HTMLElement>(`[data-date="${target}"]`)?.focus();
    if (target.startsWith(month)) return focus();
    setTurnedTo(target.slice(0, 7));
    // The other month's days are in the page after the next rendering.
    setTimeout(focus);
  }

  return (
    <div className="day-choice" role="group" aria-label={t('dueDate.choose')}>
      <div className="day-choice-month">
        <ActionButton variant="quiet" aria-label={t('dueDate.monthBefore')} onPress={() => setTurnedTo(before)}>
          <span aria-hidden="true" className="turn-back" />
        </ActionButton>
        <strong aria-live="polite">{title}</strong>
        <ActionButton variant="quiet" aria-label={t('dueDate.monthAfter')} onPress={() => setTurnedTo(next)}>
          <span aria-hidden="true" className="turn-on" />
        </ActionButton>
      </div>
      <table ref={table}>
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
              {week.map((date) => (
                <td key={date}>
                  {date.startsWith(month) && (
                    <button
                      type="button"
                      data-date={date}
                      className={isClosed(days.get(date)) ? 'closed' : ''}
                      tabIndex={date === current ? 0 : -1}
                      disabled={date < today()}
                      aria-pressed={date === day}
                      aria-current={date === today() ? 'date' : undefined}
                      aria-label={[whole.format(new Date(`${date}T00:00Z`)), isClosed(days.get(date)) && t('calendar.closed')].filter(Boolean).join(', ')}
                      title={isClosed(days.get(date)) ? t('calendar.closed') : undefined}
                      onKeyDown={(event) => pressed(event, date)}
                      onClick={() => {
                        setTurnedTo(undefined);
                        choose(date);
                      }}
                    >
                      {Number(date.slice(8))}
                    </button>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A day that no calendar names is not known to be closed. */
const isClosed = (day: OpeningDay | undefined) => day !== undefined && !day.open;
