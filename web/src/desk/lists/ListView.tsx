/* A list: its query in words, its contents, and its actions. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useHotkeys } from '../../layout/hotkeys.ts';
import { go, goTo, to } from '../../layout/route.ts';
import { Confirm } from '../../parts/Confirm.tsx';
import { ActionButton, Loading, Message } from '../../parts/controls.tsx';
import { Facts, FailureMessage, Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDateTime, toWallTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { ColumnChoice } from './ColumnChoice.tsx';
import { fromFql, shownCell } from './conditions.ts';
import { cancelRefresh, contentsOf, deleteList, type EntityColumn, entityType, exportList, findList, LIST_PAGE, type Numbered, startRefresh, type StoredList } from './list-api.ts';
import { ListHistory } from './ListHistory.tsx';
import { QueryInWords } from './QueryInWords.tsx';
import { intervalInWords } from './schedule.ts';

/** Milliseconds between two polls of a running refresh. */
const POLL_MS = 1_000;

export const columnsByName = (columns: readonly EntityColumn[] | undefined): ReadonlyMap<string, EntityColumn> => new Map((columns ?? []).map((column) => [column.name, column]));
export const dayOf = (instant: Date) => toWallTime(instant).slice(0, 10);

export function ListView({ id }: { id: string }) {
  const queries = useQueryClient();
  const query = useQuery({ queryKey: ['list', id], queryFn: () => findList(id), refetchInterval: ({ state }) => (state.data?.inProgressRefresh ? POLL_MS : false) });
  const list = query.data;
  const type = useQuery({ queryKey: ['entity-type', list?.entityTypeId], enabled: list !== undefined, staleTime: 600_000, queryFn: () => entityType(list?.entityTypeId ?? '') });
  const columns = useMemo(() => columnsByName(type.data?.columns), [type.data]);
  const running = list?.inProgressRefresh !== undefined;
  const wasRunning = useRef(running);
  useEffect(() => {
    if (wasRunning.current && !running) void queries.invalidateQueries({ queryKey: ['list-contents', id] });
    wasRunning.current = running;
  }, [running, id, queries]);
  if (query.error) return <div className="page"><h1>{t('page.lists')}</h1><FailureMessage error={query.error} /></div>;
  if (!list) return <Loading />;
  const conditions = list.fqlQuery === undefined ? undefined : fromFql(list.fqlQuery, columns, dayOf);
  return (
    <div className="page">
      <header>
        <div>
          <a href={to('lists')}>{t('page.lists')}</a>
          <h1>{list.name}</h1>
        </div>
        <Actions list={list} />
      </header>
      <RefreshState list={list} />
      <div className="columns">
        <section className="card" aria-label={t('lists.about')}>
          {list.description && <p className="note-text">{list.description}</p>}
          <Facts
            facts={[
              [t('lists.entityType'), type.data?.labelAlias],
              [t('column.status'), t(list.isActive ? 'lists.active' : 'lists.inactive')],
              [t('lists.visibility'), t(list.isPrivate ? 'lists.private' : 'lists.shared')],
              [t('lists.by'), list.createdByUsername],
              [t('lists.refreshed'), list.successRefresh && [formatDateTime(list.successRefresh.refreshEndDate), list.successRefresh.refreshedByUsername].filter(Boolean).join(', ')],
              [t('lists.refreshEvery'), intervalInWords(list.refreshEverySeconds ?? 0)],
            ]}
          />
        </section>
        <section className="card" aria-labelledby="list-query">
          <h2 id="list-query">{t('lists.query')}</h2>
          {type.data && (conditions ? <QueryInWords conditions={conditions} columns={columns} /> : <code className="fql">{list.fqlQuery ?? t('lists.noQuery')}</code>)}
        </section>
      </div>
      {type.data && <Contents list={list} columns={columns} />}
      {type.data && <ListHistory list={list} columns={columns} />}
    </div>
  );
}

function Actions({ list }: { list: StoredList }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [deleting, setDeleting] = useState(false);
  const [error, setError] = useState<unknown>();
  const refused = (permission: string) => (may(permission) ? undefined : t('why.noPermission'));
  const running = list.inProgressRefresh !== undefined;
  const reload = () => queries.invalidateQueries({ queryKey: ['list', list.id] });
  const run = (action: Promise<unknown>) => {
    setError(undefined);
    action.then(reload, (failure: unknown) => {
      setError(failure);
      void reload();
    });
  };
  const fixed = list.isCanned ? t('lists.canned') : running ? t('lists.refreshing') : undefined;
  const mayEdit = fixed === undefined && may('lists.item.update');
  const copy = may('lists.collection.post') ? `${to('lists', 'new')}?from=${list.id}` : undefined;
  const whyNotRefreshed = !list.isActive ? t('lists.inactive') : refused('lists.item.post');
  const refresh = () => run(startRefresh(list.id));
  useHotkeys({
    ...(running || whyNotRefreshed !== undefined ? {} : { refreshList: refresh }),
    ...(mayEdit ? { edit: () => go('lists', list.id, 'edit') } : {}),
    ...(copy ? { duplicate: () => goTo(copy), newRecord: () => go('lists', 'new') } : {}),
  });
  return (
    <>
      <div className="toolbar-actions">
        {running ? (
          <ActionButton why={refused('lists.item.refresh.cancel')} onPress={() => run(cancelRefresh(list.id))}>
            {t('lists.cancelRefresh')}
          </ActionButton>
        ) : (
          <ActionButton variant="primary" why={whyNotRefreshed} onPress={refresh}>
            {t('lists.refresh')}
          </ActionButton>
        )}
        {mayEdit && (
          <a className="button" href={to('lists', list.id, 'edit')}>
            {t('edit')}
          </a>
        )}
        {copy && (
          <a className="button" href={copy}>
            {t('lists.duplicate')}
          </a>
        )}
        <ActionButton variant="danger" why={fixed ?? refused('lists.item.delete')} onPress={() => setDeleting(true)}>
          {t('delete')}
        </ActionButton>
      </div>
      {error !== undefined && <FailureMessage error={error} />}
      {deleting && (
        <Confirm
          title={t('lists.delete')}
          text={list.name}
          submit={t('delete')}
          run={() => deleteList(list.id)}
          close={() => setDeleting(false)}
          done={() => {
            void queries.invalidateQueries({ queryKey: ['lists'] });
            go('lists');
          }}
        />
      )}
    </>
  );
}

/** Progress of the refresh, or why the last one failed; the previous contents stay visible. */
function RefreshState({ list: { inProgressRefresh: running, failedRefresh: failed, isActive, successRefresh } }: { list: StoredList }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  if (running) {
    const seconds = Math.max(0, Math.round((now - new Date(running.refreshStartDate ?? now).getTime()) / 1000));
    return (
      <Message kind="information">
        {t('lists.refreshRuns', { seconds })} {running.recordsCount !== undefined && tn('lists.found', running.recordsCount)}
      </Message>
    );
  }
  if (failed) return <Message kind="error">{t('lists.refreshFailed', { code: failed.error?.code ?? '', message: failed.error?.message ?? '' })}</Message>;
  if (isActive && !successRefresh) return <Message kind="information" quiet>{t('lists.neverRefreshed')}</Message>;
  return null;
}

function Contents({ list, columns }: { list: StoredList; columns: ReadonlyMap<string, EntityColumn> }) {
  const [fields, setFields] = useState(list.fields);
  const [offset, setOffset] = useState(0);
  const shown = fields.filter((name) => columns.has(name));
  const query = useQuery({
    queryKey: ['list-contents', list.id, shown, offset],
    queryFn: () => contentsOf(list.id, shown, offset),
    placeholderData: (previous) => previous,
    staleTime: 60_000,
  });
  const total = query.data?.totalRecords ?? 0;
  const last = Math.min(offset + LIST_PAGE, total);
  return (
    <section className="card" aria-labelledby="list-contents">
      <div className="filters">
        <h2 id="list-contents" className="grow">
          {tn('lists.found', total)}
        </h2>
        <Export list={list} fields={shown} />
      </div>
      <ColumnChoice columns={columns} chosen={fields} onChange={setFields} />
      <Listing
        label={t('lists.contents')}
        rows={query.data?.content.map((row, index) => ({ row, index }))}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('lists.empty')}
        rowKey={({ index }) => String(offset + index)}
        columns={shown.map((name) => ({
          title: columns.get(name)?.labelAlias ?? name,
          cell: ({ row }: Numbered): ReactNode => (row['_deleted'] === true ? t('lists.deletedRecord') : shownCell(row[name], columns.get(name), formatDateTime)),
        }))}
      />
      {total > LIST_PAGE && (
        <div className="pager">
          <span role="status">{t('lists.page', { first: offset + 1, last, total })}</span>
          <span>
            <ActionButton isDisabled={offset === 0} onPress={() => setOffset(Math.max(0, offset - LIST_PAGE))}>
              {t('pager.before')}
            </ActionButton>{' '}
            <ActionButton isDisabled={last >= total} onPress={() => setOffset(offset + LIST_PAGE)}>
              {t('pager.next')}
            </ActionButton>
          </span>
        </div>
      )}
    </section>
  );
}

function Export({ list, fields }: { list: StoredList; fields: string[] }) {
  const { may } = useSession();
  const [running, setRunning] = useState<AbortController>();
  const [error, setError] = useState<unknown>();
  useEffect(() => () => running?.abort(), [running]);
  const why = !may('lists.item.export.post') ? t('why.noPermission') : list.inProgressRefresh ? t('lists.refreshing') : !list.successRefresh ? t('lists.nothingYet') : undefined;

  function start(chosen: string[]) {
    const abort = new AbortController();
    setRunning(abort);
    setError(undefined);
    exportList(list.id, chosen, abort.signal)
      .then(
        (address) => {
          const link = document.createElement('a');
          link.href = address;
          link.download = '';
          link.click();
        },
        (failure: unknown) => !abort.signal.aborted && setError(failure),
      )
      .finally(() => setRunning(undefined));
  }

  useHotkeys(why === undefined && running === undefined ? { exportList: () => start(fields) } : {});
  return (
    <div className="toolbar-actions">
      {error !== undefined && <FailureMessage error={error} />}
      {running ? (
        <>
          <span role="status">{t('lists.exporting')}</span>
          <ActionButton onPress={() => running.abort()}>{t('cancel')}</ActionButton>
        </>
      ) : (
        <>
          <ActionButton why={why} onPress={() => start(fields)}>
            {t('lists.exportVisible')}
          </ActionButton>
          <ActionButton why={why} onPress={() => start([])}>
            {t('lists.exportAll')}
          </ActionButton>
        </>
      )}
    </div>
  );
}
