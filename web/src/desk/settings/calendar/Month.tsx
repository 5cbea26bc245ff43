/* A month of days, some of which are chosen by dragging over them, or by Shift and the arrow keys. */
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';
import type { OpeningDay } from '../../../api/bodies.ts';
import { today } from '../../../text/dates.ts';
import { currentLanguage, t } from '../../../text/messages.ts';
import { dayAfter, weeksOf } from '../../../text/month.ts';

interface Props {
  month: string;
  title: string;
  days: ReadonlyMap<string, OpeningDay>;
  /** Called with the first and the last day that were chosen; undefined where nothing may be changed. */
  choose: ((first: string, last: string) => void) | undefined;
}

/** Days by which an arrow key moves the focus; left and right are reversed in right-to-left pages. */
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

export function Month({ month, title, days, choose }: Props) {
  const [range, setRange] = useState<{ anchor: string; head: string }>();
  const dragging = useRef(false);
  const table = useRef<HTMLTableElement>(null);
  const weekday = new Intl.DateTimeFormat(currentLanguage(), { weekday: 'short', timeZone: 'UTC' });
  const weeks = weeksOf(month);
  const [first = '', last = ''] = range ? [range.anchor, range.head].sort() : [];

  function pressed(event: KeyboardEvent, date: string) {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const mirrored = document.documentElement.dir === 'rtl' && Math.abs(step) === 1;
    const next = dayAfter(date, mirrored ? -step : step);
    const button = table.current?.querySelector<HTMLElement>(`[data-date="${next}"]`);
    if (!button) return;
    setRange(event.shiftKey ? { anchor: range?.anchor ?? date, head: next } : undefined);
    button.focus();
  }

  function end(event: PointerEvent) {
    if (!dragging.current) return;
    dragging.current = false;
    if (event.target instanceof Element && event.target.closest('[data-date]') && range) choose?.(first, last);
    setRange(undefined);
  }

  function cancel() {
    if (dragging.current) setRange(undefined);
    dragging.current = false;
  }

  return (
    <div className="table-frame" role="group" aria-label={title} tabIndex={0}>
      <table className="month" ref={table} onPointerUp={end} onPointerLeave={cancel} onPointerCancel={cancel}>
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
                if (!date.startsWith(month)) return <td key={date} className="other" />;
                const day = days.get(date);
                const isChosen = range !== undefined && first <= date && date <= last;
                return (
                  <td key={date} className={`${day?.open ? 'open' : 'closed'} ${isChosen ? 'chosen-day' : ''}`} aria-current={date === today() ? 'date' : undefined}>
                    <button
                      type="button"
                      className="day"
                      data-date={date}
                      disabled={choose === undefined}
                      onPointerDown={(event) => {
                        // A finger scrolls the page; it chooses one day.
                        if (event.pointerType === 'touch' || event.button !== 0) return;
                        dragging.current = true;
                        setRange({ anchor: date, head: date });
                      }}
                      onPointerEnter={() => dragging.current && setRange((now) => now && { ...now, head: date })}
                      onKeyDown={(event) => pressed(event, date)}
                      // By keys and by touch; a pointer has chosen already when it was released.
                      onClick={(event) => {
                        if (event.detail > 0 && (event.nativeEvent as globalThis.PointerEvent).pointerType === 'mouse') return;
                        choose?.(isChosen ? first : date, isChosen ? last : date);
                        setRange(undefined);
                      }}
                    >
                      <strong>{Number(date.slice(8))}</strong>
                      <span className="visually-hidden">{title}, </span>
                      <span>{day && hours(day)}</span>
                      {day?.exceptional && <span className="hint">{day.exceptionName ?? t('calendar.exception')}</span>}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function hours(day: OpeningDay): string {
  if (!day.open) return t('calendar.closed');
  if (day.allDay) return t('calendar.allDay');
  return day.openings.map((one) => `${one.startTime.slice(0, 5)}–${one.endTime.slice(0, 5)}`).join(', ');
}
