import { get, post, put, quoted, withQuery } from '../../api/client.ts';
import type { HoldRequest, Instance, Item, StaffSlipContext } from '../../api/bodies.ts';
import type { AllowedServicePoints, MoveRequest, NamedServicePoints, ReorderRequest } from '../../api/schema.ts';
import { fromWallTime } from '../../text/dates.ts';

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
  /** A tag that the request has. */
  tag?: string;
  /** `yes` or `no`: whether its pick slip was printed. */
  printed?: string;
}

/** CQL for a filter: the text is found in barcodes and titles. */
export function requestQuery({ text, type, status, pickup, tag = '', printed = '' }: RequestFilter): string {
  const words = text.trim();
  const begins = `${quoted(words).slice(0, -1)}*"`;
  const clauses = [
    words === '' ? '' : `(requester.barcode==${quoted(words)} or item.barcode==${quoted(words)} or instance.title=${begins})`,
    type === '' ? '' : `requestType==${quoted(type)}`,
    status === 'all' ? '' : status === 'open' ? 'status=="Open*"' : `status==${quoted(status)}`,
    pickup === '' ? '' : `pickupServicePointId==${pickup}`,
    tag.trim() === '' ? '' : `tags.tagList=${quoted(tag.trim())}`,
    printed === 'yes' ? 'printDetails.isPrinted==true' : printed === 'no' ? 'cql.allRecords=1 not printDetails.isPrinted==true' : '',
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

/** Sends the whole queue in its new order; the server compares it with the stored queue. */
export function reorderQueue(of: QueueOf, id: string, ids: string[]): Promise<void> {
  const order: ReorderRequest = { reorderedQueue: ids.map((one, index) => ({ id: one, newPosition: index + 1 })) };
  return post(`/circulation/requests/queue/${of}/${id}/reorder`, order);
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

/** What is requested: one item, or any item of a title. */
export type Requested = { level: 'Item'; item: Item } | { level: 'Title'; instance: Instance };

export function allowedServicePoints(requesterId: string, requested: Requested): Promise<AllowedServicePoints> {
  const what = requested.level === 'Item' ? { itemId: requested.item.id } : { instanceId: requested.instance.id };
  return get(withQuery('/circulation/requests/allowed-service-points', { operation: 'create', requesterId, ...what }));
}

/** Other pickup service points that the policy of an open request allows. */
export function otherServicePoints(request: HoldRequest): Promise<NamedServicePoints[]> {
  const path = withQuery('/circulation/requests/allowed-service-points', { operation: 'replace', requestId: request.id });
  return get<AllowedServicePoints>(path).then((allowed) => allowed[request.requestType] ?? []);
}

/** How the requester gets the item: from a hold shelf, or delivered to one of their addresses. */
export type Fulfillment = { pickupServicePointId: string } | { deliveryAddressTypeId: string };

export interface NewRequestBody {
  requested: Requested;
  requesterId: string;
  type: RequestType;
  fulfillment: Fulfillment;
  /** Expiration date, as `2026-12-31`; empty: none. */
  expires: string;
  comments: string;
}

export async function createRequest({ requested, requesterId, type, fulfillment, expires, comments }: NewRequestBody) {
  return post<HoldRequest>('/circulation/requests', {
    requestType: type,
    requestLevel: requested.level,
    requestDate: new Date().toISOString(),
    requesterId,
    ...(requested.level === 'Title' ? { instanceId: requested.instance.id } : await idsOf(requested.item)),
    fulfillmentPreference: 'pickupServicePointId' in fulfillment ? 'Hold Shelf' : 'Delivery',
    ...fulfillment,
    ...(expires === '' ? {} : { requestExpirationDate: fromWallTime(`${expires}T23:59:59`).toISOString() }),
    ...(comments === '' ? {} : { patronComments: comments }),
  });
}

async function idsOf(item: Item) {
  const { instanceId } = await get<{ instanceId: string }>(`/holdings-storage/holdings/${item.holdingsRecordId}`);
  return { itemId: item.id, holdingsRecordId: item.holdingsRecordId, instanceId };
}

/** Instances with these words in the title, or with this HRID. */
export async function findTitles(text: string, limit: number): Promise<Instance[]> {
  const words = `${quoted(text).slice(0, -1)}*"`;
  const path = withQuery('/inventory/instances', { query: `title=${words} or hrid==${quoted(text)}`, limit });
  return (await get<{ instances: Instance[] }>(path)).instances;
}

/** The items of an instance to which a request may be moved. */
export async function itemsOfTitle(instanceId: string): Promise<Item[]> {
  const path = withQuery('/inventory/items', { query: `instance.id==${instanceId} sortby barcode`, limit: 200 });
  return (await get<{ items: Item[] }>(path)).items;
}

export function moveRequest(id: string, destinationItemId: string, requestType: RequestType): Promise<HoldRequest> {
  const move: MoveRequest = { destinationItemId, requestType };
  return post<HoldRequest>(`/circulation/requests/${id}/move`, move);
}

export function changePickup(request: HoldRequest, pickupServicePointId: string): Promise<void> {
  return put(`/circulation/requests/${request.id}`, { ...request, pickupServicePointId, fulfillmentPreference: 'Hold Shelf' });
}

/** Records who printed the slips of these requests, and when. */
export function enterPrint(requestIds: string[], requesterId: string, requesterName: string): Promise<void> {
  return post('/circulation/print-events-entry', { requestIds, requesterId, requesterName, printEventDate: new Date().toISOString() });
}

/** Requests by id, a page at a time. */
export async function requestsById(ids: readonly string[]): Promise<HoldRequest[]> {
  const found: HoldRequest[] = [];
  for (let at = 0; at < ids.length; at += 50) {
    const part = ids.slice(at, at + 50);
    const path = withQuery('/circulation/requests', { query: `id==(${part.join(' or ')})`, limit: part.length });
    found.push(...(await get<{ requests: HoldRequest[] }>(path)).requests);
  }
  return found;
}

/** Slips of a service point: pages to be fetched from the shelf, holds to be looked for. */
export async function findSlips(kind: 'pick' | 'search', servicePointId: string): Promise<StaffSlipContext[]> {
  const answer = await get<{ pickSlips?: StaffSlipContext[]; searchSlips?: StaffSlipContext[] }>(`/circulation/${kind}-slips/${servicePointId}`);
  return answer.pickSlips ?? answer.searchSlips ?? [];
}

/** Closed requests whose items are still on the hold shelf. */
export function findClearance(servicePointId: string): Promise<HoldRequest[]> {
  return get<{ requests: HoldRequest[] }>(`/circulation/requests-reports/hold-shelf-clearance/${servicePointId}`).then((report) => report.requests);
}

/** The ids with one of them moved to another index. */
export function moved(ids: readonly string[], id: string, to: number): string[] {
  const without = ids.filter((one) => one !== id);
  const place = Math.max(0, Math.min(to, without.length));
  return [...without.slice(0, place), id, ...without.slice(place)];
}

/** CSV text; a value that a spreadsheet would interpret as a formula gets a leading apostrophe. */
export function csv(rows: (string | undefined)[][]): string {
  const cell = (value = '') => `"${(/^[=+\-@\t]/.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;
  return rows.map((row) => row.map(cell).join(',')).join('\r\n');
}
