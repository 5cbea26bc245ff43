/* The history of a list: its refreshes, and its versions, each of which can be brought back. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Confirm } from '../../parts/Confirm.tsx';
import { ActionButton } from '../../parts/controls.tsx';
import { Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { fromFql } from './conditions.ts';
import { type EntityColumn, type ListVersion, type Refresh, refreshesOf, restored, type StoredList, updateList, versionsOf } from './list-api.ts';
import { dayOf } from './ListView.tsx';
import { QueryInWords } from './QueryInWords.tsx';

interface Props {
  list: StoredList;
  columns: ReadonlyMap<string, EntityColumn>;
}

export function ListHistory({ list, columns }: Props) {
  return (
    <>
      <Folded title={t('lists.history')}>
        <Refreshes list={list} />
      </Folded>
      <Folded title={t('lists.versions')}>
        <Versions list={list} columns={columns} />
      </Folded>
    </>
  );
}

/** Loads its contents when it is opened. */
function Folded({ title, children }: { title: string; children: React.ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section className="card" aria-label={title}>
      <details className="column-choice" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{title}</summary>
        {isOpen && children}
      </details>
    </section>
  );
}

function Refreshes({ list }: { list: StoredList }) {
  const latest = list.inProgressRefresh?.id ?? list.failedRefresh?.id ?? list.successRefresh?.id;
  const query = useQuery({ queryKey: ['list', list.id, 'refreshes', latest], queryFn: () => refreshesOf(list.id), placeholderData: (previous) => previous });
  return (
    <Listing
      label={t('lists.history')}
      rows={query.data}
      isLoading={query.isLoading}
      error={query.error}
      empty={t('lists.neverRefreshed')}
      rowKey={(refresh) => refresh.id}
      columns={[
        { title: t('lists.started'), cell: (refresh) => formatDateTime(refresh.refreshStartDate) },
        { title: t('lists.took'), cell: secondsOf, className: 'money' },
        { title: t('column.status'), cell: (refresh) => [t(`lists.status.${refresh.status}`), refresh.error?.message ?? refresh.error?.code].filter(Boolean).join(': ') },
        { title: t('lists.records'), cell: (refresh) => (refresh.status === 'SUCCESS' ? refresh.recordsCount?.toLocaleString() : undefined), className: 'money' },
        { title: t('lists.version'), cell: (refresh) => refresh.listVersion, className: 'money' },
        { title: t('lists.refreshedBy'), cell: (refresh) => refresh.refreshedByUsername },
      ]}
    />
  );
}

function secondsOf({ refreshStartDate: start, refreshEndDate: end }: Refresh): string | undefined {
  if (!start || !end) return undefined;
  const seconds = (new Date(end).getTime() - new Date(start).getTime()) / 1_000;
  return t('lists.seconds', { seconds: seconds.toFixed(1) });
}

function Versions({ list, columns }: Props) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<ListVersion>();
  const mayRead = may('lists.item.versions.collection.get');
  const query = useQuery({ queryKey: ['list', list.id, 'versions', list.version], enabled: mayRead, queryFn: () => versionsOf(list.id) });
  if (!mayRead) return <p className="empty">{t('why.noPermission')}</p>;
  const why = list.isCanned ? t('lists.canned') : list.inProgressRefresh ? t('lists.refreshing') : may('lists.item.update') ? undefined : t('why.noPermission');
  return (
    <>
      <Listing
        label={t('lists.versions')}
        rows={query.data?.slice().reverse()}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('lists.noVersions')}
        rowKey={(one) => one.id}
        columns={[
          { title: t('lists.version'), cell: (one) => one.version, className: 'money' },
          { title: t('lists.changed'), cell: (one) => formatDateTime(one.updatedDate) },
          { title: t('lists.changedBy'), cell: (one) => one.updatedByUsername },
          { title: t('column.name'), cell: (one) => one.name },
          { title: t('lists.query'), cell: (one) => <Query fql={one.fqlQuery} columns={columns} /> },
          { title: t('column.status'), cell: (one) => [t(one.isActive ? 'lists.active' : 'lists.inactive'), t(one.isPrivate ? 'lists.private' : 'lists.shared')].join(', ') },
          {
            title: t('column.actions'),
            cell: (one) =>
              one.version === list.version ? (
                t('lists.current')
              ) : (
                <ActionButton why={why} onPress={() => setChosen(one)}>
                  {t('lists.restore', { version: one.version })}
                </ActionButton>
              ),
          },
        ]}
      />
      {chosen && (
        <Confirm
          title={t('lists.restoreTitle')}
          text={t('lists.restoreText', { version: chosen.version, name: chosen.name })}
          submit={t('lists.restore', { version: chosen.version })}
          run={() => updateList(list.id, restored(list, chosen), list.version)}
          close={() => setChosen(undefined)}
          done={() => {
            setChosen(undefined);
            void queries.invalidateQueries({ queryKey: ['list', list.id] });
          }}
        />
      )}
    </>
  );
}

function Query({ fql, columns }: { fql: string | undefined; columns: Props['columns'] }) {
  if (fql === undefined) return t('lists.noQuery');
  const conditions = fromFql(fql, columns, dayOf);
  return conditions ? <QueryInWords conditions={conditions} columns={columns} /> : <code className="fql">{fql}</code>;
}
