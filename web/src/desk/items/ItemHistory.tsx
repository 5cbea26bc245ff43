/* What happened to an item, from the circulation log. */
import { Listing, Pager } from '../../parts/listing.tsx';
import { PAGE_SIZE, useList } from '../../parts/useSearch.ts';
import { formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { circulationLog } from '../circulation-log.ts';
import { useServicePoints } from '../references.ts';

/** Users without it do not see the history. */
export const READ_HISTORY = 'circulation-logs.collection.get';

export function ItemHistory({ itemId }: { itemId: string }) {
  const servicePoints = useServicePoints();
  const list = useList(['history-of-item', itemId], (offset, signal) =>
    circulationLog({ query: `items=="*${itemId}*" sortby date/sort.descending`, limit: PAGE_SIZE, offset }, { signal }),
  );
  return (
    <>
      <Listing
        label={t('items.tab.history')}
        rows={list.data?.logRecords}
        isLoading={list.isLoading}
        error={list.error}
        empty={t('items.noHistory')}
        rowKey={(record) => record.id}
        columns={[
          { title: t('dashboard.at'), cell: (record) => formatDateTime(record.date), className: 'due' },
          { title: t('items.object'), cell: (record) => record.object },
          { title: t('fees.what'), cell: (record) => record.action },
          { title: t('items.details'), cell: (record) => record.description },
          { title: t('servicePoint.title'), cell: (record) => servicePoints.get(record.servicePointId ?? '') },
          { title: t('items.by'), cell: (record) => record.source },
        ]}
      />
      {list.data && <Pager total={list.data.totalRecords} offset={list.offset} goTo={list.goTo} />}
    </>
  );
}
