/* An instance: its description, its holdings with their items, and its requests. */
import { useQuery } from '@tanstack/react-query';
import type { HoldRequest, Item } from '../../api/bodies.ts';
import { get, withQuery } from '../../api/client.ts';
import { to } from '../../layout/route.ts';
import { Loading, Message } from '../../parts/controls.tsx';
import { Facts, FailureMessage, Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { callNumber } from '../items.ts';
import { nameOfBorrower } from '../people.ts';
import { useLocations } from '../references.ts';
import { RequestQueue } from '../requests/RequestQueue.tsx';

/** Holdings records, and items, that the page shows at most. */
const PAGE = 1000;

interface InstanceRecord {
  id: string;
  hrid?: string;
  title: string;
  source?: string;
  contributors?: { name: string }[];
  publication?: { publisher?: string; place?: string; dateOfPublication?: string }[];
  editions?: string[];
  identifiers?: { value: string }[];
  physicalDescriptions?: string[];
  languages?: string[];
  subjects?: { value: string }[];
  discoverySuppress?: boolean;
  staffSuppress?: boolean;
}

interface Holdings {
  id: string;
  hrid?: string;
  permanentLocationId: string;
  effectiveLocationId?: string;
  callNumberPrefix?: string;
  callNumber?: string;
  callNumberSuffix?: string;
  holdingsStatements?: { statement?: string }[];
}

export function InstanceView({ id }: { id: string }) {
  const { settings } = useSession();
  const query = useQuery({ queryKey: ['instance', id], queryFn: () => get<InstanceRecord>(`/inventory/instances/${encodeURIComponent(id)}`) });
  if (query.error) return <div className="page"><h1>{t('page.items')}</h1><FailureMessage error={query.error} /></div>;
  const instance = query.data;
  if (!instance) return <Loading />;
  const joined = (values: (string | undefined)[] | undefined) => values?.filter(Boolean).join('; ');
  return (
    <div className="page">
      <header>
        <div>
          <a href={to('items')}>{t('page.items')}</a>
          <h1>{instance.title}</h1>
        </div>
      </header>
      {(instance.discoverySuppress || instance.staffSuppress) && (
        <Message kind="warning" quiet>
          {t(instance.staffSuppress ? 'instance.staffSuppressed' : 'instance.suppressed')}
        </Message>
      )}
      <section className="card" aria-label={t('instance.description')}>
        <Facts
          facts={[
            [t('items.contributor'), joined(instance.contributors?.map((one) => one.name))],
            [t('instance.publication'), joined(instance.publication?.map((one) => [one.place, one.publisher, one.dateOfPublication].filter(Boolean).join(', ')))],
            [t('instance.edition'), joined(instance.editions)],
            [t('instance.extent'), joined(instance.physicalDescriptions)],
            [t('instance.identifiers'), joined(instance.identifiers?.map((one) => one.value))],
            [t('instance.languages'), joined(instance.languages)],
            [t('instance.subjects'), joined(instance.subjects?.map((one) => one.value))],
            [t('items.hrid'), joined([instance.hrid, instance.source])],
          ]}
        />
      </section>
      <HoldingsOf instanceId={id} />
      <section className="card" aria-labelledby="instance-requests">
        <h2 id="instance-requests">{t('items.tab.requests')}</h2>
        {settings.titleLevelRequests ? <RequestQueue of="instance" id={id} /> : <OpenRequests instanceId={id} />}
      </section>
    </div>
  );
}

function HoldingsOf({ instanceId }: { instanceId: string }) {
  const locations = useLocations();
  const holdings = useQuery({
    queryKey: ['holdings-of', instanceId],
    queryFn: () => get<{ holdingsRecords: Holdings[] }>(withQuery('/holdings-storage/holdings', { query: `instanceId==${instanceId} sortby callNumber`, limit: PAGE })),
  });
  const items = useQuery({
    queryKey: ['items', 'of-instance', instanceId],
    queryFn: () => get<{ items: Item[] }>(withQuery('/inventory/items', { query: `instance.id==${instanceId} sortby barcode`, limit: PAGE })),
  });
  if (holdings.error) return <FailureMessage error={holdings.error} />;
  if (!holdings.data) return <Loading />;
  const records = holdings.data.holdingsRecords;
  return (
    <>
      {records.length === 0 && <p className="empty">{t('instance.noHoldings')}</p>}
      {records.map((one) => {
        const own = items.data?.items.filter((item) => item.holdingsRecordId === one.id);
        const place = locations.get(one.effectiveLocationId ?? one.permanentLocationId) ?? '';
        const statements = one.holdingsStatements?.map(({ statement }) => statement).filter(Boolean).join('; ');
        return (
          <section className="card" key={one.id} aria-label={t('instance.holdingsIn', { place })}>
            <header>
              <h2>{[place, callNumber({ prefix: one.callNumberPrefix ?? null, callNumber: one.callNumber ?? null, suffix: one.callNumberSuffix ?? null })].filter(Boolean).join(' · ')}</h2>
              {own && <span className="hint">{tn('rows.count', own.length)}</span>}
            </header>
            {statements && <p>{statements}</p>}
            <Listing
              label={t('instance.itemsIn', { place })}
              rows={own}
              isLoading={items.isLoading}
              error={items.error}
              empty={t('instance.noItems')}
              rowKey={(item) => item.id}
              columns={[
                { title: t('column.barcode'), cell: (item) => <a href={to('items', item.id)}>{item.barcode ?? item.hrid ?? item.id}</a>, className: 'digits' },
                { title: t('column.status'), cell: (item) => item.status.name },
                { title: t('items.copyNumber'), cell: (item) => item.copyNumber },
                { title: t('items.volume'), cell: (item) => [item.volume, item.enumeration, item.chronology].filter(Boolean).join(' ') },
                { title: t('items.materialType'), cell: (item) => item.materialType?.name },
                { title: t('items.loanType'), cell: (item) => item.temporaryLoanType?.name ?? item.permanentLoanType?.name },
                { title: t('column.location'), cell: (item) => item.effectiveLocation?.name },
              ]}
            />
          </section>
        );
      })}
    </>
  );
}

function OpenRequests({ instanceId }: { instanceId: string }) {
  const query = useQuery({
    queryKey: ['requests', 'of-instance', instanceId],
    queryFn: () => get<{ requests: HoldRequest[] }>(withQuery('/circulation/requests', { query: `instanceId==${instanceId} and status=="Open*" sortby requestDate`, limit: PAGE })),
  });
  return (
    <Listing
      label={t('items.tab.requests')}
      rows={query.data?.requests}
      isLoading={query.isLoading}
      error={query.error}
      empty={t('users.noRequests')}
      rowKey={(request) => request.id}
      columns={[
        { title: t('column.requester'), cell: (request) => <a href={to('requests', request.id)}>{nameOfBorrower(request.requester)}</a> },
        { title: t('column.type'), cell: (request) => request.requestType },
        { title: t('column.status'), cell: (request) => request.status },
        { title: t('column.barcode'), cell: (request) => request.item?.barcode, className: 'digits' },
        { title: t('column.requested'), cell: (request) => formatDate(request.requestDate), className: 'due' },
      ]}
    />
  );
}
