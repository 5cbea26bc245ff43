import { lazy } from 'react';
import { useHotkeys } from '../../layout/hotkeys.ts';
import { go, to, useRoute } from '../../layout/route.ts';
import { Choice, Field } from '../../parts/controls.tsx';
import { Listing, Pager } from '../../parts/listing.tsx';
import { PAGE_SIZE, useList, useSearchValue, useSettled } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { formatDate } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { nameOfUser } from '../people.ts';
import { useReferences } from '../references.ts';
import { searchUsers } from './user-query.ts';

const UserView = lazy(() => import('./UserView.tsx').then((module) => ({ default: module.UserView })));

const NewUser = lazy(() => import('./UserEditor.tsx').then((module) => ({ default: module.NewUser })));
const EditUser = lazy(() => import('./UserEditor.tsx').then((module) => ({ default: module.EditUser })));

export function UsersPage() {
  const { rest } = useRoute();
  const [id, tab, record] = rest;
  if (id === 'new') return <NewUser />;
  if (id !== undefined && tab === 'edit') return <EditUser key={id} id={id} />;
  return id === undefined ? <UserSearch /> : <UserView key={id} id={id} tab={tab ?? 'loans'} record={record} />;
}

const STATUSES = ['all', 'active', 'inactive'] as const;

function UserSearch() {
  const { may } = useSession();
  const [text, setText] = useSearchValue('q');
  const [status, setStatus] = useSearchValue('status', 'all');
  const wanted = useSettled(text);
  const { groups } = useReferences();
  const known = STATUSES.find((one) => one === status) ?? 'all';
  const list = useList(['users', wanted, known], (offset, signal) => searchUsers(wanted, known, PAGE_SIZE, offset, signal));
  useHotkeys(may('users.item.post') ? { newRecord: () => go('users', 'new') } : {});
  return (
    <div className="page">
      <header>
        <h1>{t('page.users')}</h1>
        {may('users.item.post') && (
          <a className="button primary" href={to('users', 'new')}>
            {t('users.new')}
          </a>
        )}
      </header>
      <section className="card" aria-label={t('search')}>
        <div className="filters">
          <div className="field grow">
            <Field type="search" label={t('findUser.label')} value={text} onChange={setText} autoFocus />
          </div>
          <Choice label={t('users.status')} value={known} onChange={setStatus} options={STATUSES.map((value) => ({ value, label: t(`users.${value}`) }))} />
        </div>
        <Listing
          label={t('page.users')}
          rows={list.data?.users}
          isLoading={list.isLoading}
          error={list.error}
          empty={t('search.nothing')}
          rowKey={(user) => user.id ?? ''}
          columns={[
            { title: t('column.name'), cell: (user) => <a href={to('users', user.id ?? '')}>{nameOfUser(user)}</a> },
            { title: t('column.barcode'), cell: (user) => user.barcode, className: 'digits' },
            { title: t('column.username'), cell: (user) => user.username },
            { title: t('patron.group'), cell: (user) => groups.get(user.patronGroup ?? '') },
            { title: t('patron.expires'), cell: (user) => formatDate(user.expirationDate) },
            {
              title: t('column.status'),
              cell: (user) => <span className={`badge ${user.active === false ? '' : 'good'}`}>{t(user.active === false ? 'users.inactive' : 'users.active')}</span>,
            },
          ]}
        />
        {list.data && <Pager total={list.data.totalRecords} offset={list.offset} goTo={list.goTo} />}
      </section>
    </div>
  );
}
