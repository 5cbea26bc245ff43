/* Creates or changes a list: its name, its query, and a test run of the query before the list is saved. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { useHotkeys } from '../../layout/hotkeys.ts';
import { go, to } from '../../layout/route.ts';
import { ActionButton, Choice, Field, Loading, Message, Tick } from '../../parts/controls.tsx';
import { FailureMessage, Listing } from '../../parts/listing.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDateTime, fromWallTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { ColumnChoice } from './ColumnChoice.tsx';
import { type Condition, fromFql, problemOf, shownCell, toFql } from './conditions.ts';
import { createList, entityType, type EntityType, findList, type ListDraft, startRefresh, type Numbered, type StoredList, type Tested, testQuery, updateList } from './list-api.ts';
import { useEntityTypes } from './ListsPage.tsx';
import { columnsByName, dayOf } from './ListView.tsx';
import { QueryBuilder } from './QueryBuilder.tsx';
import { intervalChoices } from './schedule.ts';

const EMPTY: ListDraft = { name: '', description: '', entityTypeId: '', fqlQuery: '', fields: [], isActive: true, isPrivate: false, refreshEverySeconds: null };
const startOfDay = (day: string) => fromWallTime(day);

export function NewList({ from }: { from: string | undefined }) {
  const copied = useQuery({ queryKey: ['list', from], enabled: from !== undefined, queryFn: () => findList(from ?? '') });
  if (copied.error) return <FailureMessage error={copied.error} />;
  if (from !== undefined && !copied.data) return <Loading />;
  return <WithType draft={copied.data ? { ...draftOf(copied.data), name: t('lists.copyOf', { name: copied.data.name }) } : EMPTY} stored={undefined} />;
}

export function EditList({ id }: { id: string }) {
  const query = useQuery({ queryKey: ['list', id, 'edit'], queryFn: () => findList(id), gcTime: 0, staleTime: Infinity });
  if (query.error) return <div className="page"><h1>{t('page.lists')}</h1><FailureMessage error={query.error} /></div>;
  return query.data ? <WithType draft={draftOf(query.data)} stored={query.data} /> : <Loading />;
}

function draftOf(list: StoredList): ListDraft {
  const { name, description = '', entityTypeId, fqlQuery = '', fields, isActive, isPrivate, refreshEverySeconds = null } = list;
  return { name, description, entityTypeId, fqlQuery, fields, isActive, isPrivate, refreshEverySeconds };
}

/** The form needs the fields of the record type before it can read the query. */
function WithType({ draft, stored }: { draft: ListDraft; stored: StoredList | undefined }) {
  const types = useEntityTypes();
  const [chosen, setChosen] = useState(draft.entityTypeId);
  const id = chosen || (types.find((type) => type.label === 'Items')?.id ?? types[0]?.id ?? '');
  const type = useQuery({ queryKey: ['entity-type', id], enabled: id !== '', staleTime: 600_000, queryFn: () => entityType(id) });
  if (type.error) return <FailureMessage error={type.error} />;
  if (!type.data) return <Loading />;
  return <ListForm key={id} draft={id === draft.entityTypeId ? draft : { ...draft, entityTypeId: id, fqlQuery: '', fields: [] }} type={type.data} types={types} chooseType={setChosen} stored={stored} />;
}

interface FormProps {
  draft: ListDraft;
  type: EntityType;
  types: { id: string; label: string }[];
  chooseType: (id: string) => void;
  stored: StoredList | undefined;
}

function ListForm({ draft: initial, type, types, chooseType, stored }: FormProps) {
  const { may } = useSession();
  const queries = useQueryClient();
  const columns = useMemo(() => columnsByName(type.columns), [type]);
  const [draft, setDraft] = useState(() => ({ ...initial, fields: initial.fields.length > 0 ? initial.fields : type.columns.filter((column) => column.visibleByDefault).map((column) => column.name) }));
  const [conditions, setConditions] = useState<Condition[] | undefined>(() => (initial.fqlQuery === '' ? [{ field: '', operator: '$eq', values: [''] }] : fromFql(initial.fqlQuery, columns, dayOf)));
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const change = (part: Partial<ListDraft>) => setDraft((all) => ({ ...all, ...part }));
  const problem = conditions && problemOf(conditions, columns);
  const fql = conditions && !problem ? toFql(conditions.map((one) => ({ ...one, values: one.values.filter((value) => value !== '') })), columns, startOfDay) : draft.fqlQuery;
  const missing = draft.name.trim() === '' ? t('lists.needsName') : problem ? t(problem) : draft.fields.length === 0 ? t('lists.needsColumn') : undefined;
  const back = stored ? to('lists', stored.id) : to('lists');

  async function save() {
    setBusy(true);
    setError(undefined);
    const body = { ...draft, name: draft.name.trim(), fqlQuery: fql };
    try {
      const saved = stored ? await updateList(stored.id, body, stored.version) : await createList(body);
      if (saved.isActive && may('lists.item.post')) await startRefresh(saved.id).catch(() => {});
      await queries.invalidateQueries({ queryKey: ['lists'] });
      await queries.invalidateQueries({ queryKey: ['list', saved.id] });
      go('lists', saved.id);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  }

  useHotkeys({ save: () => missing === undefined && !busy && void save() });
  return (
    <div className="page">
      <header>
        <div>
          <a href={back}>{stored?.name ?? t('page.lists')}</a>
          <h1>{t(stored ? 'lists.edit' : 'lists.new')}</h1>
        </div>
        <div className="toolbar-actions">
          <a className="button" href={back}>
            {t('cancel')}
          </a>
          <ActionButton variant="primary" why={missing} isDisabled={busy} onPress={() => void save()}>
            {t(draft.isActive ? 'lists.saveAndRefresh' : 'save')}
          </ActionButton>
        </div>
      </header>
      {error !== undefined && <FailureMessage error={error} />}
      <section className="card" aria-labelledby="list-about">
        <h2 id="list-about">{t('lists.about')}</h2>
        <div className="form-grid">
          <Field label={t('column.name')} value={draft.name} onChange={(name) => change({ name })} isRequired autoFocus />
          {stored ? null : <Choice label={t('lists.entityType')} value={type.id} onChange={chooseType} options={types.map((one) => ({ value: one.id, label: one.label }))} />}
          <Field label={t('lists.description')} rows={2} value={draft.description} onChange={(description) => change({ description })} />
        </div>
        <div className="toolbar-actions">
          <Tick isSelected={!draft.isPrivate} onChange={(shared) => change({ isPrivate: !shared })}>
            {t('lists.sharedTick')}
          </Tick>
          <Tick isSelected={draft.isActive} onChange={(isActive) => change({ isActive })}>
            {t('lists.activeTick')}
          </Tick>
          <Choice
            label={t('lists.refreshEvery')}
            value={String(draft.refreshEverySeconds ?? 0)}
            onChange={(seconds) => change({ refreshEverySeconds: Number(seconds) || null })}
            options={intervalChoices(initial.refreshEverySeconds ?? 0)}
          />
        </div>
      </section>
      <section className="card" aria-labelledby="list-query">
        <h2 id="list-query">{t('lists.query')}</h2>
        {conditions ? (
          <QueryBuilder entityTypeId={type.id} columns={columns} conditions={conditions} onChange={setConditions} />
        ) : (
          <>
            <Message kind="information" quiet>{t('lists.notInRows')}</Message>
            <Field label="FQL" rows={4} value={draft.fqlQuery} onChange={(fqlQuery) => change({ fqlQuery })} />
          </>
        )}
        <ColumnChoice columns={columns} chosen={draft.fields} onChange={(fields) => change({ fields })} />
        <Test entityTypeId={type.id} fql={fql} fields={draft.fields} columns={columns} why={problem ? t(problem) : undefined} />
      </section>
    </div>
  );
}

interface TestProps {
  entityTypeId: string;
  fql: string;
  fields: string[];
  columns: ReturnType<typeof columnsByName>;
  why: string | undefined;
}

/** The number of records and the first rows, before the list is saved. */
function Test({ entityTypeId, fql, fields, columns, why }: TestProps) {
  const { may } = useSession();
  const [running, setRunning] = useState<AbortController>();
  const [found, setFound] = useState<number>();
  const [tested, setTested] = useState<Tested>();
  const [error, setError] = useState<unknown>();
  useEffect(() => () => running?.abort(), [running]);

  function start() {
    const abort = new AbortController();
    setRunning(abort);
    setTested(undefined);
    setFound(undefined);
    setError(undefined);
    testQuery(entityTypeId, fql, fields, abort.signal, setFound)
      .then(setTested, (failure: unknown) => !abort.signal.aborted && setError(failure))
      .finally(() => setRunning(undefined));
  }

  return (
    <div className="part">
      <div className="toolbar-actions">
        {running ? (
          <ActionButton onPress={() => running.abort()}>{t('lists.stopTest')}</ActionButton>
        ) : (
          <ActionButton why={why ?? (may('fqm.query.async.post') ? undefined : t('why.noPermission'))} onPress={start}>
            {t('lists.test')}
          </ActionButton>
        )}
        <span role="status">
          {running && t('lists.testing')} {(tested?.total ?? found) !== undefined && tn('lists.found', tested?.total ?? found ?? 0)}
        </span>
      </div>
      {error !== undefined && <FailureMessage error={error} />}
      {tested && (
        <Listing
          label={t('lists.preview')}
          rows={tested.rows.map((row, index) => ({ row, index }))}
          isLoading={false}
          error={undefined}
          empty={t('search.nothing')}
          rowKey={({ index }) => String(index)}
          columns={fields.map((name) => ({ title: columns.get(name)?.labelAlias ?? name, cell: ({ row }: Numbered) => shownCell(row[name], columns.get(name), formatDateTime) }))}
        />
      )}
    </div>
  );
}
