import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { to } from '../../layout/route.ts';
import { Listing, Pager } from '../../parts/listing.tsx';
import { formatDateTime, fromWallTime, today } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { useServicePoints } from '../references.ts';
import { type CountedFigure, type FigureRow, loadFigureList } from './figure-lists.ts';

/** The list that a figure counts. */
export function FigureList({ figure }: { figure: CountedFigure }) {
  const [offset, setOffset] = useState(0);
  const servicePoints = useServicePoints();
  const query = useQuery({ queryKey: ['figure', figure, offset], queryFn: () => loadFigureList(figure, fromWallTime(today()), offset), placeholderData: (previous) => previous });
  const isLoan = figure === 'open' || figure === 'overdue';
  const isNotice = figure === 'noticesSent' || figure === 'noticesFailed';
  const isOfPatron = figure !== 'checkIn' && figure !== 'longTransits';
  return (
    <section className="card" aria-labelledby="figure">
      <a href={to('dashboards', 'circulation')}>{t('dashboard.tab.circulation')}</a>
      <h2 id="figure">{t(`dashboard.list.${figure}`)}</h2>
      <Listing
        label={t(`dashboard.list.${figure}`)}
        rows={query.data?.rows}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('search.nothing')}
        rowKey={(row) => row.key}
        columns={[
          { title: t('column.title'), cell: (row) => row.itemId !== '' && <a href={to('items', row.itemId)}>{row.title ?? row.itemId}</a> },
          { title: t('column.barcode'), cell: (row) => row.barcode, className: 'digits' },
          { title: t(isLoan ? 'column.dueDate' : figure === 'longTransits' ? 'items.since' : 'dashboard.at'), cell: (row) => formatDateTime(row.at), className: 'due' },
          ...(isLoan || isNotice ? [] : [{ title: t(figure === 'longTransits' ? 'dashboard.destination' : 'servicePoint.title'), cell: (row: { servicePointId?: string | undefined }) => servicePoints.get(row.servicePointId ?? '') }]),
          ...(isOfPatron ? [{ title: t('patron.panel'), cell: (row: FigureRow) => row.userId && <a href={to('users', row.userId)}>{row.patron || t('dashboard.account')}</a> }] : []),
          ...(isNotice ? [{ title: t('items.details'), cell: (row: FigureRow) => row.description }] : []),
        ]}
      />
      {query.data && <Pager total={query.data.total} offset={offset} goTo={setOffset} />}
    </section>
  );
}
