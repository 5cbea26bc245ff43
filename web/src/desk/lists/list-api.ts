/* The server's routes for lists, entity types and queries. */
import { get, post, put, remove, withQuery } from '../../api/client.ts';

export interface Refresh {
  id: string;
  status: 'IN_PROGRESS' | 'SUCCESS' | 'FAILED' | 'CANCELLED';
  refreshStartDate?: string;
  refreshEndDate?: string;
  refreshedByUsername?: string;
  recordsCount?: number;
  listVersion?: number;
  error?: { code: string; message?: string };
}

export interface ListSummary {
  id: string;
  name: string;
  entityTypeId: string;
  createdByUsername?: string;
  updatedDate?: string;
  isActive: boolean;
  isPrivate: boolean;
  isCanned: boolean;
  recordsCount?: number;
  refreshedDate?: string;
  isRefreshing: boolean;
  latestRefreshFailed: boolean;
}

export interface StoredList {
  id: string;
  name: string;
  description?: string;
  entityTypeId: string;
  fqlQuery?: string;
  fields: string[];
  createdByUsername?: string;
  updatedByUsername?: string;
  createdDate?: string;
  updatedDate?: string;
  isActive: boolean;
  isPrivate: boolean;
  isCanned: boolean;
  version: number;
  /** Seconds between two refreshes without anybody asking. */
  refreshEverySeconds?: number;
  successRefresh?: Refresh;
  inProgressRefresh?: Refresh;
  failedRefresh?: Refresh;
}

/** The body of a list that is created or changed. */
export interface ListDraft {
  name: string;
  description: string;
  entityTypeId: string;
  fqlQuery: string;
  fields: string[];
  isActive: boolean;
  isPrivate: boolean;
  refreshEverySeconds: number | null;
}

/** A list as it was after one of its changes. */
export interface ListVersion {
  id: string;
  version: number;
  name: string;
  description?: string;
  fqlQuery?: string;
  fields: string[];
  isActive: boolean;
  isPrivate: boolean;
  updatedByUsername?: string;
  updatedDate?: string;
}

export interface DataType {
  dataType: string;
  itemDataType?: DataType;
}

/** A field of an entity type. */
export interface EntityColumn {
  name: string;
  labelAlias: string;
  dataType: DataType;
  queryable: boolean;
  queryOnly?: boolean;
  visibleByDefault: boolean;
  hidden?: boolean;
  values?: { value: string; label: string }[];
  source?: object;
  valueSourceApi?: object;
}

export interface EntityType {
  id: string;
  name: string;
  labelAlias: string;
  columns: EntityColumn[];
}

export type Row = Record<string, unknown>;

/** A row with its index on the page, because rows have no key. */
export interface Numbered {
  row: Row;
  index: number;
}

export interface Filter {
  search: string;
  entityTypeId: string;
  active: string;
  visibility: string;
}

export const LIST_PAGE = 100;

export function searchLists({ search, entityTypeId, active, visibility }: Filter, offset: number, size: number, signal: AbortSignal) {
  const path = withQuery('/lists', {
    search: search || undefined,
    entityTypeIds: entityTypeId || undefined,
    active: active || undefined,
    private: visibility || undefined,
    offset,
    size,
  });
  return get<{ content: ListSummary[]; totalRecords: number }>(path, { signal });
}

export const findList = (id: string) => get<StoredList>(`/lists/${encodeURIComponent(id)}`);
export const createList = (draft: ListDraft) => post<StoredList>('/lists', draft);
export const updateList = (id: string, draft: ListDraft, version: number) => put<StoredList>(`/lists/${id}`, { ...draft, version });

/** The refreshes of a list, the last first. */
export const refreshesOf = (id: string) => get<{ refreshes: Refresh[] }>(withQuery(`/lists/${id}/refreshes`, { limit: LIST_PAGE })).then((found) => found.refreshes);

/** The versions of a list, the first first. */
export const versionsOf = (id: string) => get<ListVersion[]>(`/lists/${id}/versions`);

/** The list with the content of an earlier version; the schedule has no versions. */
export function restored(list: StoredList, { name, description = '', fqlQuery = '', fields, isActive, isPrivate }: ListVersion): ListDraft {
  return { name, description, entityTypeId: list.entityTypeId, fqlQuery, fields, isActive, isPrivate, refreshEverySeconds: list.refreshEverySeconds ?? null };
}

export const deleteList = (id: string) => remove(`/lists/${id}`);
export const startRefresh = (id: string) => post<Refresh>(`/lists/${id}/refresh`, {});
export const cancelRefresh = (id: string) => remove(`/lists/${id}/refresh`);

export function contentsOf(id: string, fields: readonly string[], offset: number) {
  return get<{ content: Row[]; totalRecords: number }>(withQuery(`/lists/${id}/contents`, { fields: fields.join(','), offset, size: LIST_PAGE }));
}

export const entityTypes = () => get<{ entityTypes: { id: string; label: string }[] }>('/entity-types').then((found) => found.entityTypes);
export const entityType = (id: string) => get<EntityType>(`/entity-types/${id}`);

export function fieldValues(entityTypeId: string, field: string, search: string) {
  const path = withQuery(`/entity-types/${entityTypeId}/field-values`, { field, search: search || undefined });
  return get<{ content: { value: string; label: string }[] }>(path).then((found) => found.content);
}

interface QueryDetails {
  status: Refresh['status'] | 'MAX_SIZE_EXCEEDED';
  totalRecords?: number;
  content?: Row[];
  failureReason?: string;
}

export interface Tested {
  total: number;
  rows: Row[];
}

/** Milliseconds between two polls of a running query or export. */
const POLL_MS = 400;
const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

/**
 * Runs a query without saving it: returns the number of records and the first rows. Aborting also cancels it on the
 * server.
 */
export async function testQuery(entityTypeId: string, fqlQuery: string, fields: readonly string[], signal: AbortSignal, progress: (total: number) => void): Promise<Tested> {
  const { queryId } = await post<{ queryId: string }>('/query', { entityTypeId, fqlQuery, fields });
  for (;;) {
    if (signal.aborted) {
      await remove(`/query/${queryId}`).catch(() => {});
      throw new DOMException('cancelled', 'AbortError');
    }
    const details = await get<QueryDetails>(withQuery(`/query/${queryId}`, { includeResults: 'true', limit: LIST_PAGE, offset: 0 }));
    const total = details.totalRecords ?? 0;
    if (details.status === 'SUCCESS') return { total, rows: details.content ?? [] };
    if (details.status !== 'IN_PROGRESS') throw new Error(details.failureReason ?? details.status);
    progress(total);
    await pause();
  }
}

interface ExportDetails {
  exportId: string;
  status: Refresh['status'];
}

/** Creates a CSV export, waits until it is ready, and returns its address. Aborting also cancels it on the server. */
export async function exportList(id: string, fields: readonly string[], signal: AbortSignal): Promise<string> {
  let state = await post<ExportDetails>(`/lists/${id}/exports`, fields);
  const path = `/lists/${id}/exports/${state.exportId}`;
  while (state.status === 'IN_PROGRESS') {
    if (signal.aborted) {
      await post(`${path}/cancel`, {}).catch(() => {});
      throw new DOMException('cancelled', 'AbortError');
    }
    await pause();
    state = await get<ExportDetails>(path);
  }
  if (state.status !== 'SUCCESS') throw new Error(state.status);
  return `${path}/download`;
}
