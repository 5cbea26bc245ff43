import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, quoted, withQuery } from '../../api/client.ts';
import type { HoldRequest, Item, Loan } from '../../api/bodies.ts';
import { to, useRoute } from '../../layout/route.ts';
import { ActionButton, Field, Loading } from '../../parts/controls.tsx';
import { Facts, FailureMessage, Listing, Pager, Tabs } from '../../parts/listing.tsx';
import { PAGE_SIZE, useList, useSearchValue, useSettled } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { formatDate, formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { callNumber } from '../items.ts';
import { nameOfBorrower } from '../people.ts';
import { useServicePoints } from '../references.ts';
import { NewRequest } from '../requests/NewRequest.tsx';
import { RequestQueue } from '../requests/RequestQueue.tsx';
import { EditItem } from './EditItem.tsx';
import { InstanceView } from './InstanceView.tsx';
import { ItemHistory, READ_HISTORY } from './ItemHistory.tsx';
import { MarkItem } from './MarkItem.tsx';

export function ItemsPage() {
  const [id, tab] = useRoute().rest;
  if (id === 'instances' && tab !== undefined) return <InstanceView key={tab} id={tab} />;
  return id === undefined ? <ItemSearch /> : <ItemView key={id} id={id} tab={tab ?? 'loans'} />;
}

/** CQL that finds a barcode, an hrid, a call number or the beginning of words of a title. */
export function itemQuery(text: string): string {
  const words = text.trim();
  if (words === '') return 'cql.allRecords=1 sortby title';
  return `(barcode==${quoted(words)} or hrid==${quoted(words)} or instance.title all ${quoted(words)}) sortby title`;
}

function ItemSearch() {
  const [text, setText] = useSearchValue('q');
  const wanted = useSettled(text);
  const list = useList(['items', wanted], (offset, signal) =>
    get<{ items: Item[]; totalRecords: number }>(withQuery('/inventory/items', { query: itemQuery(wanted), limit: PAGE_SIZE, offset }), { signal }),
  );
  return (
    <div className="page">
      <header>
        <h1>{t('page.items')}</h1>
      </header>
      <section className="card" aria-label={t('search')}>
        <Field type="search" label={t('items.find')} value={text} onChange={setText} autoFocus />
        <Listing
          label={t('page.items')}
          rows={list.data?.items}
          isLoading={list.isLoading}
          error={list.error}
          empty={t('search.nothing')}
          rowKey={(item) => item.id}
          columns={[
            { title: t('column.title'), cell: (item) => <a href={to('items', item.id)}>{item.title ?? item.id}</a> },
            { title: t('items.contributor'), cell: (item) => item.contributorNames?.[0]?.name },
            { title: t('column.barcode'), cell: (item) => item.barcode, className: 'digits' },
            { title: t('column.callNumber'), cell: (item) => callNumber(item.effectiveCallNumberComponents) },
            { title: t('column.location'), cell: (item) => item.effectiveLocation?.name },
            { title: t('items.materialType'), cell: (item) => item.materialType?.name },
            { title: t('column.status'), cell: (item) => item.status.name },
          ]}
        />
        {list.data && <Pager total={list.data.totalRecords} offset={list.offset} goTo={list.goTo} />}
      </section>
    </div>
  );
}

const TABS = ['loans', 'requests', 'notes', 'history'] as const;

function ItemView({ id, tab }: { id: string; tab: string }) {
  const { may, settings } = useSession();
  const servicePoints = useServicePoints();
  const [requesting, setRequesting] = useState(false);
  const [editing, setEditing] = useState(false);
  const query = useQuery({ queryKey: ['item', id], queryFn: () => get<Item>(`/inventory/items/${encodeURIComponent(id)}`) });
  const item = query.data;
  const holdings = useQuery({
    queryKey: ['holdings', item?.holdingsRecordId],
    enabled: item !== undefined,
    queryFn: () => get<{ instanceId: string }>(`/holdings-storage/holdings/${item?.holdingsRecordId ?? ''}`),
  });
  if (query.error) return <div className="page"><h1>{t('page.items')}</h1><FailureMessage error={query.error} /></div>;
  if (!item) return <Loading />;
  const tabs = TABS.filter((one) => one !== 'history' || may(READ_HISTORY));
  const current = tabs.find((one) => one === tab) ?? 'loans';
  const queue = settings.titleLevelRequests ? ({ of: 'instance', id: holdings.data?.instanceId } as const) : ({ of: 'item', id } as const);
  return (
    <div className="page">
      <header>
        <div>
          <a href={to('items')}>{t('page.items')}</a>
          <h1>{item.title}</h1>
          {holdings.data && <a href={to('items', 'instances', holdings.data.instanceId)}>{t('instance.open')}</a>}
        </div>
        <div className="toolbar-actions">
          <ActionButton why={may('inventory.items.item.put') ? undefined : t('why.noPermission')} onPress={() => setEditing(true)}>
            {t('edit')}
          </ActionButton>
          <MarkItem item={item} />
          <ActionButton variant="primary" why={may('circulation.requests.item.post') ? undefined : t('why.noPermission')} onPress={() => setRequesting(true)}>
            {t('requests.new')}
          </ActionButton>
        </div>
      </header>
      <div className="columns">
        <section className="card" aria-label={t('loan.item')}>
          <Facts
            facts={[
              [t('column.barcode'), item.barcode],
              [t('items.hrid'), item.hrid],
              [t('items.contributor'), item.contributorNames?.map((one) => one.name).join('; ')],
              [t('column.callNumber'), callNumber(item.effectiveCallNumberComponents)],
              [t('items.materialType'), item.materialType?.name],
              [t('items.loanType'), item.temporaryLoanType?.name ?? item.permanentLoanType?.name],
              [t('items.copyNumber'), item.copyNumber],
              [t('items.volume'), [item.volume, item.enumeration, item.chronology].filter(Boolean).join(' ')],
            ]}
          />
        </section>
        <section className="card" aria-label={t('column.status')}>
          <Facts
            facts={[
              [t('column.status'), item.status.name],
              [t('items.since'), formatDateTime(item.status.date)],
              [t('column.location'), item.effectiveLocation?.name],
              [t('items.lastCheckIn'), item.lastCheckIn && `${formatDateTime(item.lastCheckIn.dateTime)}, ${servicePoints.get(item.lastCheckIn.servicePointId) ?? ''}`],
              [t('pieces.number'), item.numberOfPieces],
              [t('pieces.missing'), item.missingPieces],
            ]}
          />
        </section>
      </div>
      <section className="card" aria-label={t(`items.tab.${current}`)}>
        <Tabs label={item.title ?? ''} current={current} tabs={tabs.map((name) => ({ name, href: to('items', id, name), label: t(`items.tab.${name}`) }))} />
        {current === 'loans' && <ItemLoans itemId={id} />}
        {current === 'requests' && (queue.id ? <RequestQueue of={queue.of} id={queue.id} /> : <Loading />)}
        {current === 'requests' && <ClosedRequests itemId={id} />}
        {current === 'notes' && <ItemNotes item={item} />}
        {current === 'history' && <ItemHistory itemId={id} />}
      </section>
      {editing && <EditItem item={item} close={() => setEditing(false)} />}
      {requesting && <NewRequest itemBarcode={item.barcode ?? ''} close={() => setRequesting(false)} />}
    </div>
  );
}

function ItemLoans({ itemId }: { itemId: string }) {
  const query = useQuery({
    queryKey: ['loans-of-item', itemId],
    queryFn: () => get<{ loans: Loan[] }>(withQuery('/circulation/loans', { query: `itemId==${itemId} sortby loanDate/sort.descending`, limit: 100 })),
  });
  return (
    <Listing
      label={t('items.tab.loans')}
      rows={query.data?.loans}
      isLoading={query.isLoading}
      error={query.error}
      empty={t('items.noLoans')}
      rowKey={(loan) => loan.id}
      columns={[
        { title: t('items.borrower'), cell: (loan) => (loan.userId ? <a href={to('users', loan.userId)}>{nameOfBorrower(loan.borrower) || loan.userId}</a> : t('items.anonymized')) },
        { title: t('column.status'), cell: (loan) => loan.status.name },
        { title: t('column.loaned'), cell: (loan) => formatDateTime(loan.loanDate) },
        { title: t('column.dueDate'), cell: (loan) => formatDateTime(loan.dueDate) },
        { title: t('column.returned'), cell: (loan) => formatDateTime(loan.returnDate) },
        { title: t('items.action'), cell: (loan) => loan.action },
      ]}
    />
  );
}

function ClosedRequests({ itemId }: { itemId: string }) {
  const query = useQuery({
    queryKey: ['closed-requests-of-item', itemId],
    queryFn: () => get<{ requests: HoldRequest[] }>(withQuery('/circulation/requests', { query: `itemId==${itemId} and status=="Closed*" sortby requestDate/sort.descending`, limit: 50 })),
  });
  if (!query.data || query.data.requests.length === 0) return null;
  return (
    <>
      <h2>{t('items.closedRequests')}</h2>
      <Listing
        label={t('items.closedRequests')}
        rows={query.data.requests}
        isLoading={false}
        error={undefined}
        empty=""
        rowKey={(request) => request.id}
        columns={[
          { title: t('column.requester'), cell: (request) => <a href={to('requests', request.id)}>{nameOfBorrower(request.requester)}</a> },
          { title: t('column.type'), cell: (request) => request.requestType },
          { title: t('column.status'), cell: (request) => request.status },
          { title: t('column.requested'), cell: (request) => formatDate(request.requestDate), className: 'due' },
        ]}
      />
    </>
  );
}

function ItemNotes({ item }: { item: Item }) {
  return (
    <>
      <Listing
        label={t('items.tab.notes')}
        rows={item.circulationNotes ?? []}
        isLoading={false}
        error={undefined}
        empty={t('items.noNotes')}
        rowKey={(note) => note.id ?? note.note}
        columns={[
          { title: t('column.type'), cell: (note) => note.noteType },
          { title: t('column.note'), cell: (note) => note.note },
          { title: t('column.changed'), cell: (note) => formatDateTime(note.date) },
        ]}
      />
      {(item.administrativeNotes ?? []).length > 0 && (
        <>
          <h2>{t('items.administrativeNotes')}</h2>
          <ul className="notes">
            {item.administrativeNotes?.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
