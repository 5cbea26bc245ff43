import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { to } from '../../layout/route.ts';
import { Listing, Pager } from '../../parts/listing.tsx';
import { formatDateTime, fromWallTime, today } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { useServicePoints } from '../references.ts';
import { type Behind, type BehindRow, loadBehind } from './behind.ts';

/** The list of loans or check-ins counted by a number. */
export function BehindNumber({ behind }: { behind: Behind }) {
  const [offset, setOffset] = useState(0);
  const servicePoints = useServicePoints();
  const query = useQuery({ queryKey: ['behind', behind, offset], queryFn: () => loadBehind(behind, fromWallTime(today()), offset), placeholderData: (previous) => previous });
  const isLoan = behind === 'open' || behind === 'overdue';
  return (
    <section className="card" aria-labelledby="behind">
      <a href={to('dashboards', 'circulation')}>{t('dashboard.tab.circulation')}</a>
      <h2 id="behind">{t(`dashboard.behind.${behind}`)}</h2>
      <Listing
        label={t(`dashboard.behind.${behind}`)}
        rows={query.data?.rows}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('search.nothing')}
        rowKey={(row) => row.key}
        columns={[
          { title: t('column.title'), cell: (row) => <a href={to('items', row.itemId)}>{row.title ?? row.itemId}</a> },
          { title: t('column.barcode'), cell: (row) => row.barcode, className: 'digits' },
          { title: t(isLoan ? 'column.dueDate' : 'dashboard.at'), cell: (row) => formatDateTime(row.at), className: 'due' },
          ...(isLoan ? [] : [{ title: t('servicePoint.title'), cell: (row: { servicePointId?: string | undefined }) => servicePoints.get(row.servicePointId ?? '') }]),
          ...(behind === 'checkIn' ? [] : [{ title: t('patron.panel'), cell: (row: BehindRow) => row.userId && <a href={to('users', row.userId)}>{row.patron || t('dashboard.account')}</a> }]),
        ]}
      />
      {query.data && <Pager total={query.data.total} offset={offset} goTo={setOffset} />}
    </section>
  );
}
