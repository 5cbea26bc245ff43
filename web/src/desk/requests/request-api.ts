import { get, post, put, quoted, withQuery } from '../../api/client.ts';
import type { HoldRequest, Item, StaffSlipContext } from '../../api/bodies.ts';

export const REQUEST_TYPES = ['Hold', 'Page', 'Recall'] as const;
export type RequestType = (typeof REQUEST_TYPES)[number];

export const OPEN_STATUSES = ['Open - Not yet filled', 'Open - Awaiting pickup', 'Open - In transit', 'Open - Awaiting delivery'] as const;
export const CLOSED_STATUSES = ['Closed - Filled', 'Closed - Cancelled', 'Closed - Unfilled', 'Closed - Pickup expired'] as const;

export interface RequestFilter {
  text: string;
  type: string;
  /** `open`, `all`, or a status. */
  status: string;
  pickup: string;
}

/** CQL for a filter: the text is found in barcodes and titles. */
export function requestQuery({ text, type, status, pickup }: RequestFilter): string {
  const words = text.trim();
  const begins = `${quoted(words).slice(0, -1)}*"`;
  const clauses = [
    words === '' ? '' : `(requester.barcode==${quoted(words)} or item.barcode==${quoted(words)} or instance.title=${begins})`,
    type === '' ? '' : `requestType==${quoted(type)}`,
    status === 'all' ? '' : status === 'open' ? 'status=="Open*"' : `status==${quoted(status)}`,
    pickup === '' ? '' : `pickupServicePointId==${pickup}`,
  ].filter((clause) => clause !== '');
  return `${clauses.length === 0 ? 'cql.allRecords=1' : clauses.join(' and ')} sortby requestDate`;
}

export function searchRequests(filter: RequestFilter, limit: number, offset: number, signal?: AbortSignal) {
  const path = withQuery('/circulation/requests', { query: requestQuery(filter), limit, offset });
  return get<{ requests: HoldRequest[]; totalRecords: number }>(path, { signal });
}

export const findRequest = (id: string) => get<HoldRequest>(`/circulation/requests/${encodeURIComponent(id)}`);

export type QueueOf = 'item' | 'instance';

export function findQueue(of: QueueOf, id: string) {
  return get<{ requests: HoldRequest[] }>(`/circulation/requests/queue/${of}/${id}`).then((queue) => queue.requests);
}

/** Sends the whole queue in its new order; the server checks it against the one that it has. */
export function reorderQueue(of: QueueOf, id: string, ids: string[]): Promise<void> {
  const reorderedQueue = ids.map((one, index) => ({ id: one, newPosition: index + 1 }));
  return post(`/circulation/requests/queue/${of}/${id}/reorder`, { reorderedQueue });
}

export function cancelRequest(request: HoldRequest, reasonId: string, information: string, userId: string): Promise<void> {
  return put(`/circulation/requests/${request.id}`, {
    ...request,
    status: 'Closed - Cancelled',
    cancellationReasonId: reasonId,
    cancelledByUserId: userId,
    cancelledDate: new Date().toISOString(),
    ...(information === '' ? {} : { cancellationAdditionalInformation: information }),
  });
}

export type AllowedServicePoints = Partial<Record<RequestType, { id: string; name: string }[]>>;

export function allowedServicePoints(requesterId: string, itemId: string): Promise<AllowedServicePoints> {
  return get(withQuery('/circulation/requests/allowed-service-points', { operation: 'create', requesterId, itemId }));
}

export async function createRequest(item: Item, requesterId: string, requestType: RequestType, pickupServicePointId: string, patronComments: string) {
  const holdings = await get<{ instanceId: string }>(`/holdings-storage/holdings/${item.holdingsRecordId}`);
  return post<HoldRequest>('/circulation/requests', {
    requestType,
    requestLevel: 'Item',
    requestDate: new Date().toISOString(),
    requesterId,
    itemId: item.id,
    holdingsRecordId: item.holdingsRecordId,
    instanceId: holdings.instanceId,
    fulfillmentPreference: 'Hold Shelf',
    pickupServicePointId,
    ...(patronComments === '' ? {} : { patronComments }),
  });
}

/** Slips of a service point: pages to be fetched from the shelf, holds to be looked for. */
export async function findSlips(kind: 'pick' | 'search', servicePointId: string): Promise<StaffSlipContext[]> {
  const answer = await get<{ pickSlips?: StaffSlipContext[]; searchSlips?: StaffSlipContext[] }>(`/circulation/${kind}-slips/${servicePointId}`);
  return answer.pickSlips ?? answer.searchSlips ?? [];
}

/** Closed requests whose items still stand on the hold shelf. */
export function findClearance(servicePointId: string): Promise<HoldRequest[]> {
  return get<{ requests: HoldRequest[] }>(`/circulation/requests-reports/hold-shelf-clearance/${servicePointId}`).then((report) => report.requests);
}

/** The ids with one of them moved to another place. */
export function moved(ids: readonly string[], id: string, to: number): string[] {
  const without = ids.filter((one) => one !== id);
  const place = Math.max(0, Math.min(to, without.length));
  return [...without.slice(0, place), id, ...without.slice(place)];
}

/** Text with commas between values, as spreadsheets read it; a value that they would take for a formula is quoted. */
export function csv(rows: (string | undefined)[][]): string {
  const cell = (value = '') => `"${(/^[=+\-@\t]/.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;
  return rows.map((row) => row.map(cell).join(',')).join('\r\n');
}
