import { lazy, useState } from 'react';
import { useHotkeys } from '../../layout/hotkeys.ts';
import { to, useRoute } from '../../layout/route.ts';
import { ActionButton, Choice, Field } from '../../parts/controls.tsx';
import { Listing, Pager } from '../../parts/listing.tsx';
import { PAGE_SIZE, useList, useSearchValue, useSettled } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { formatDate } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { nameOfBorrower } from '../people.ts';
import { useServicePoints } from '../references.ts';
import { NewRequest } from './NewRequest.tsx';
import { CLOSED_STATUSES, OPEN_STATUSES, REQUEST_TYPES, searchRequests } from './request-api.ts';

const RequestView = lazy(() => import('./RequestView.tsx').then((module) => ({ default: module.RequestView })));
const Slips = lazy(() => import('./Slips.tsx').then((module) => ({ default: module.Slips })));

export function RequestsPage() {
  const [id] = useRoute().rest;
  if (id === 'slips') return <Slips />;
  return id === undefined ? <RequestSearch /> : <RequestView key={id} id={id} />;
}

function RequestSearch() {
  const { may } = useSession();
  const [text, setText] = useSearchValue('q');
  const [type, setType] = useSearchValue('type');
  const [status, setStatus] = useSearchValue('status', 'open');
  const [pickup, setPickup] = useSearchValue('pickup');
  const [tag, setTag] = useSearchValue('tag');
  const [printed, setPrinted] = useSearchValue('printed');
  const [creating, setCreating] = useState(false);
  const servicePoints = useServicePoints();
  const filter = { text: useSettled(text), type, status, pickup, tag: useSettled(tag), printed };
  const list = useList(['requests', filter], (offset, signal) => searchRequests(filter, PAGE_SIZE, offset, signal));
  const any = { value: '', label: t('search.any') };
  useHotkeys(may('circulation.requests.item.post') ? { newRecord: () => setCreating(true) } : {});
  return (
    <div className="page">
      <header>
        <h1>{t('page.requests')}</h1>
        <div className="toolbar-actions">
          <a className="button" href={to('requests', 'slips')}>
            {t('requests.slips')}
          </a>
          <ActionButton variant="primary" why={may('circulation.requests.item.post') ? undefined : t('why.noPermission')} onPress={() => setCreating(true)}>
            {t('requests.new')}
          </ActionButton>
        </div>
      </header>
      <section className="card" aria-label={t('search')}>
        <div className="filters">
          <div className="field grow">
            <Field type="search" label={t('requests.find')} value={text} onChange={setText} autoFocus />
          </div>
          <Choice label={t('column.type')} value={type} onChange={setType} options={[any, ...REQUEST_TYPES.map((value) => ({ value, label: value }))]} />
          <Choice
            label={t('column.status')}
            value={status}
            onChange={setStatus}
            options={[
              { value: 'open', label: t('requests.open') },
              { value: 'all', label: t('search.any') },
              ...[...OPEN_STATUSES, ...CLOSED_STATUSES].map((value) => ({ value, label: value })),
            ]}
          />
          <Choice label={t('column.pickup')} value={pickup} onChange={setPickup} options={[any, ...[...servicePoints].map(([value, label]) => ({ value, label }))]} />
          <Field label={t('requests.tag')} value={tag} onChange={setTag} />
          <Choice label={t('requests.printed')} value={printed} onChange={setPrinted} options={[any, { value: 'yes', label: t('yes') }, { value: 'no', label: t('no') }]} />
        </div>
        <Listing
          label={t('page.requests')}
          rows={list.data?.requests}
          isLoading={list.isLoading}
          error={list.error}
          empty={t('search.nothing')}
          rowKey={(request) => request.id}
          columns={[
            { title: t('column.title'), cell: (request) => <a href={to('requests', request.id)}>{request.instance?.title ?? request.id}</a> },
            { title: t('column.type'), cell: (request) => request.requestType },
            { title: t('column.status'), cell: (request) => request.status },
            { title: t('column.position'), cell: (request) => request.position, className: 'number' },
            { title: t('column.requester'), cell: (request) => <a href={to('users', request.requesterId)}>{nameOfBorrower(request.requester)}</a> },
            { title: t('column.barcode'), cell: (request) => request.item?.barcode, className: 'digits' },
            { title: t('column.pickup'), cell: (request) => request.pickupServicePoint?.name },
            { title: t('column.requested'), cell: (request) => formatDate(request.requestDate), className: 'due' },
          ]}
        />
        {list.data && <Pager total={list.data.totalRecords} offset={list.offset} goTo={list.goTo} />}
      </section>
      {creating && <NewRequest close={() => setCreating(false)} />}
    </div>
  );
}
