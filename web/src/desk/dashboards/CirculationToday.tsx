/* Today's circulation, pushed by the server; each figure opens its list. */
import type { ReactNode } from 'react';
import { to, useRoute } from '../../layout/route.ts';
import { Choice, Loading, Message } from '../../parts/controls.tsx';
import { Listing } from '../../parts/listing.tsx';
import { useSearchValue } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { formatTime, fromWallTime, today } from '../../text/dates.ts';
import { hasText, t } from '../../text/messages.ts';
import { useServicePoints } from '../references.ts';
import { COUNTED_FIGURES } from './figure-lists.ts';
import { FigureList } from './FigureList.tsx';
import { BarChart } from './BarChart.tsx';
import { AWAITING_PICKUP, type Bar, barsOf, hoursOf, KINDS, refusalsSince, requestTotals, totalOf, useLiveFigures } from './live.ts';

export function CirculationToday() {
  const [, wanted] = useRoute().rest;
  const figure = COUNTED_FIGURES.find((one) => one === wanted);
  return figure ? <FigureList key={figure} figure={figure} /> : <Today />;
}

function Today() {
  const { figures, connected } = useLiveFigures();
  const [servicePoint, setServicePoint] = useSearchValue('at');
  const servicePoints = useServicePoints();
  const { may } = useSession();
  if (!figures) return connected ? <Loading /> : <Message kind="information">{t('dashboard.connecting')}</Message>;
  const bars = barsOf(figures.quarters, fromWallTime(today()), new Date(figures.at), servicePoint);
  const requests = requestTotals(figures.requests, servicePoint);
  const longTransits = figures.longTransits.filter((one) => servicePoint === '' || one.servicePointId === servicePoint).reduce((sum, one) => sum + one.number, 0);
  const requestsAt = (search: Record<string, string>) => `${to('requests')}?${new URLSearchParams({ ...search, ...(servicePoint === '' ? {} : { pickup: servicePoint }) }).toString()}`;
  return (
    <>
      <div className="filters">
        <Choice
          label={t('servicePoint.title')}
          value={servicePoint}
          onChange={setServicePoint}
          options={[{ value: '', label: t('dashboard.allServicePoints') }, ...[...servicePoints].map(([value, label]) => ({ value, label }))]}
        />
        <p className="hint" role="status">
          {connected ? t('dashboard.asOf', { time: formatTime(figures.at) }) : t('dashboard.lost', { time: formatTime(figures.at) })}
        </p>
      </div>
      <ul className="tiles">
        {KINDS.map((kind) => (
          <Tile key={kind} label={t(`dashboard.${kind}`)} number={totalOf(bars, kind)} href={to('dashboards', 'circulation', kind)} />
        ))}
        <Tile label={t('dashboard.openLoans')} number={figures.openLoans} href={to('dashboards', 'circulation', 'open')} note={t('dashboard.everywhere')} />
        <Tile label={t('dashboard.overdue')} number={figures.overdueLoans} href={to('dashboards', 'circulation', 'overdue')} note={t('dashboard.everywhere')} warns={figures.overdueLoans > 0} />
        <Tile label={t('dashboard.openRequests')} number={requests.total} href={requestsAt({ status: 'open' })} />
        <Tile label={t('dashboard.awaitingPickup')} number={requests.awaitingPickup} href={requestsAt({ status: AWAITING_PICKUP })} />
        <Tile label={t('dashboard.expired')} number={requests.expiredOnHoldShelf} href={to('requests', 'slips')} warns={requests.expiredOnHoldShelf > 0} />
        <Tile label={t('dashboard.longTransits')} number={longTransits} href={to('dashboards', 'circulation', 'longTransits')} warns={longTransits > 0} />
        {may('circulation-logs.collection.get') && (
          <>
            <Tile label={t('dashboard.noticesSent')} number={figures.noticesSent} href={to('dashboards', 'circulation', 'noticesSent')} note={t('dashboard.in24Hours')} />
            <Tile label={t('dashboard.noticesFailed')} number={figures.noticesFailed} href={to('dashboards', 'circulation', 'noticesFailed')} note={t('dashboard.in24Hours')} warns={figures.noticesFailed > 0} />
          </>
        )}
      </ul>
      <section className="card" aria-labelledby="quarters">
        <h2 id="quarters">{t('dashboard.quarters')}</h2>
        <BarChart bars={bars} />
      </section>
      <div className="columns">
        <section className="card" aria-labelledby="hours">
          <h2 id="hours">{t('dashboard.hours')}</h2>
          <Listing
            label={t('dashboard.hours')}
            rows={hoursOf(bars).filter((bar) => KINDS.some((kind) => bar.counts[kind] > 0))}
            isLoading={false}
            error={undefined}
            empty={t('dashboard.nothingToday')}
            rowKey={(bar) => bar.start.toISOString()}
            columns={[
              { title: t('dashboard.from'), cell: (bar: Bar): ReactNode => formatTime(bar.start) },
              ...KINDS.map((kind) => ({ title: t(`dashboard.${kind}`), cell: (bar: Bar): ReactNode => bar.counts[kind], className: 'money' })),
            ]}
          />
        </section>
        <section className="card" aria-labelledby="refused">
          <h2 id="refused">{t('dashboard.refused')}</h2>
          <p className="hint">{t('dashboard.refusedHint')}</p>
          <Listing
            label={t('dashboard.refused')}
            rows={refusalsSince(figures.refusals, fromWallTime(today()))}
            isLoading={false}
            error={undefined}
            empty={t('dashboard.noneRefused')}
            rowKey={([reason]) => reason}
            columns={[
              { title: t('notices.reason'), cell: ([reason]) => reasonText(reason) },
              { title: t('dashboard.number'), cell: ([, number]) => number, className: 'money' },
            ]}
          />
        </section>
        <section className="card" aria-labelledby="open-requests">
          <h2 id="open-requests">{t('dashboard.openRequests')}</h2>
          <Counts rows={requests.byType} title={t('column.type')} href={(type) => requestsAt({ type, status: 'open' })} />
          <Counts rows={requests.byStatus} title={t('column.status')} href={(status) => requestsAt({ status })} />
        </section>
      </div>
    </>
  );
}

/** The reason in words; a code without a text is readable in lower case. */
function reasonText(reason: string): string {
  const key = `refusal.${reason}`;
  return hasText(key) ? t(key) : reason.toLowerCase().replaceAll('_', ' ');
}

function Tile({ label, number, href, note, warns = false }: { label: string; number: number; href: string; note?: string; warns?: boolean }) {
  return (
    <li className={`tile${warns ? ' warns' : ''}`}>
      <a href={href}>
        <strong>{number.toLocaleString()}</strong>
        <span>{label}</span>
        {note && <span className="hint">{note}</span>}
      </a>
    </li>
  );
}

function Counts({ rows, title, href }: { rows: [string, number][]; title: string; href: (name: string) => string }) {
  return (
    <Listing
      label={title}
      rows={rows}
      isLoading={false}
      error={undefined}
      empty={t('users.noRequests')}
      rowKey={([name]) => name}
      columns={[
        { title, cell: ([name]) => <a href={href(name)}>{name}</a> },
        { title: t('dashboard.number'), cell: ([, number]) => number, className: 'money' },
      ]}
    />
  );
}
