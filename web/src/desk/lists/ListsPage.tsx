import { useQuery } from '@tanstack/react-query';
import { lazy } from 'react';
import { useHotkeys } from '../../layout/hotkeys.ts';
import { go, to, useRoute } from '../../layout/route.ts';
import { Choice, Field } from '../../parts/controls.tsx';
import { Listing, Pager } from '../../parts/listing.tsx';
import { PAGE_SIZE, useList, useSearchValue, useSettled } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { entityTypes, searchLists } from './list-api.ts';

const ListView = lazy(() => import('./ListView.tsx').then((module) => ({ default: module.ListView })));
const NewList = lazy(() => import('./ListEditor.tsx').then((module) => ({ default: module.NewList })));
const EditList = lazy(() => import('./ListEditor.tsx').then((module) => ({ default: module.EditList })));

export function ListsPage() {
  const { rest, search } = useRoute();
  const [id, tab] = rest;
  if (id === undefined) return <Overview />;
  if (id === 'new') return <NewList from={search.get('from') ?? undefined} />;
  return tab === 'edit' ? <EditList key={id} id={id} /> : <ListView key={id} id={id} />;
}

export function useEntityTypes() {
  return useQuery({ queryKey: ['entity-types'], staleTime: 600_000, queryFn: entityTypes }).data ?? [];
}

function Overview() {
  const { may } = useSession();
  const [text, setText] = useSearchValue('q');
  const [entityTypeId, setEntityType] = useSearchValue('type');
  const [active, setActive] = useSearchValue('active');
  const [visibility, setVisibility] = useSearchValue('private');
  const types = useEntityTypes();
  const filter = { search: useSettled(text.trim()), entityTypeId, active, visibility };
  const list = useList(['lists', filter], (offset, signal) => searchLists(filter, offset, PAGE_SIZE, signal));
  const any = { value: '', label: t('search.any') };
  useHotkeys(may('lists.collection.post') ? { newRecord: () => go('lists', 'new') } : {});
  return (
    <div className="page">
      <header>
        <h1>{t('page.lists')}</h1>
        {may('lists.collection.post') && (
          <a className="button primary" href={to('lists', 'new')}>
            {t('lists.new')}
          </a>
        )}
      </header>
      <section className="card" aria-label={t('search')}>
        <div className="filters">
          <div className="field grow">
            <Field type="search" label={t('lists.find')} value={text} onChange={setText} autoFocus />
          </div>
          <Choice label={t('lists.entityType')} value={entityTypeId} onChange={setEntityType} options={[any, ...types.map((type) => ({ value: type.id, label: type.label }))]} />
          <Choice label={t('column.status')} value={active} onChange={setActive} options={[any, { value: 'true', label: t('lists.active') }, { value: 'false', label: t('lists.inactive') }]} />
          <Choice label={t('lists.visibility')} value={visibility} onChange={setVisibility} options={[any, { value: 'false', label: t('lists.shared') }, { value: 'true', label: t('lists.private') }]} />
        </div>
        <Listing
          label={t('page.lists')}
          rows={list.data?.content}
          isLoading={list.isLoading}
          error={list.error}
          empty={t('search.nothing')}
          rowKey={(one) => one.id}
          columns={[
            { title: t('column.name'), cell: (one) => <a href={to('lists', one.id)}>{one.name}</a> },
            { title: t('lists.entityType'), cell: (one) => types.find((type) => type.id === one.entityTypeId)?.label },
            {
              title: t('column.status'),
              cell: (one) => (
                <>
                  <span className={`badge ${one.isActive ? 'good' : 'neutral'}`}>{t(one.isActive ? 'lists.active' : 'lists.inactive')}</span>
                  {one.isRefreshing && <span className="badge neutral">{t('lists.refreshing')}</span>}
                  {one.latestRefreshFailed && <span className="badge">{t('lists.failed')}</span>}
                </>
              ),
            },
            { title: t('lists.visibility'), cell: (one) => t(one.isPrivate ? 'lists.private' : 'lists.shared') },
            { title: t('lists.records'), cell: (one) => one.recordsCount?.toLocaleString(), className: 'money' },
            { title: t('lists.refreshed'), cell: (one) => formatDateTime(one.refreshedDate) },
            { title: t('lists.by'), cell: (one) => one.createdByUsername },
          ]}
        />
        {list.data && <Pager total={list.data.totalRecords} offset={list.offset} goTo={list.goTo} />}
      </section>
    </div>
  );
}
