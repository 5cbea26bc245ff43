/* The server's routes that the desk calls while scanning, one function each. */
import { get, post, put, quoted, withQuery } from '../api/client.ts';
import type { AutomatedBlock, CheckInAnswer, CheckInRequest, CheckOutRequest, HoldRequest, Item, Loan, OverrideBlocks } from '../api/bodies.ts';
import type { Account, Manualblock, Note, ProxiesFor, User } from '../api/schema.ts';
import { t } from '../text/messages.ts';

const PAGE = 1000;

export async function findItems(barcode: string, wildcard: boolean): Promise<{ items: Item[]; total: number }> {
  const text = wildcard ? `${quoted(barcode.replace(/\*$/, '')).slice(0, -1)}*"` : quoted(barcode);
  const path = withQuery('/inventory/items', { query: `barcode==${text}`, limit: wildcard ? 50 : 2 });
  const found = await get<{ items: Item[]; totalRecords: number }>(path);
  return { items: found.items, total: found.totalRecords };
}

/** The user with this value in one of the fields; an exact barcode wins. */
export async function findUser(text: string, fields: readonly string[]): Promise<User | undefined> {
  const query = fields
    .filter((field) => field !== 'id' || /^[0-9a-f-]{36}$/i.test(text))
    .map((field) => `${field}==${quoted(text)}`)
    .join(' or ');
  if (query === '') return undefined;
  const { users } = await get<{ users: User[] }>(withQuery('/users', { query, limit: 2 }));
  return users.find((user) => user.barcode === text) ?? users[0];
}

export async function usersById(ids: string[]): Promise<User[]> {
  if (ids.length === 0) return [];
  const query = `id==(${ids.join(' or ')})`;
  return (await get<{ users: User[] }>(withQuery('/users', { query, limit: ids.length }))).users;
}

export interface ScanOptions {
  /** Of a supervisor who overrides. */
  token?: string | undefined;
  /** Idempotency key: a repetition gets the first answer and changes nothing. */
  key?: string;
  /** The server refuses a scan about which staff must be asked first; so most scans are one call. */
  refuseUnconfirmed?: boolean;
}

/** Code of the refusal that `refuseUnconfirmed` asks for. */
export const CONFIRMATION_REQUIRED = 'CONFIRMATION_REQUIRED';

const optionsOf = ({ token, key, refuseUnconfirmed = false }: ScanOptions) => ({
  token,
  headers: { ...(key ? { 'Idempotency-Key': key } : {}), ...(refuseUnconfirmed ? { 'X-Carrel-Refuse-Unconfirmed': 'true' } : {}) },
});

export function checkOut(request: CheckOutRequest, options: ScanOptions = {}): Promise<Loan> {
  return post<Loan>('/circulation/check-out-by-barcode', request, optionsOf(options));
}

export function checkIn(request: CheckInRequest, options: ScanOptions = {}): Promise<CheckInAnswer> {
  return post<CheckInAnswer>('/circulation/check-in-by-barcode', request, optionsOf(options));
}

/** Keeps an item that is lent for use at the location on the hold shelf; its loan goes on. */
export async function holdForUse(itemBarcode: string, servicePointId: string): Promise<Loan> {
  return (await post<{ loan: Loan }>('/circulation/hold-by-barcode-for-use-at-location', { itemBarcode, servicePointId })).loan;
}

/** Hands an item that is kept for use at the location out again. */
export function pickUpForUse(itemBarcode: string, userBarcode: string, servicePointId: string): Promise<Loan> {
  return post<Loan>('/circulation/pickup-by-barcode-for-use-at-location', { itemBarcode, userBarcode, servicePointId });
}

export function renew(loan: Loan, servicePointId: string, overrideBlocks?: OverrideBlocks, token?: string): Promise<Loan> {
  const body = { itemId: loan.itemId, userId: loan.userId, servicePointId, overrideBlocks };
  return post<Loan>('/circulation/renew-by-id', body, { token });
}

export function changeDueDate(loanId: string, dueDate: string): Promise<void> {
  return post(`/circulation/loans/${loanId}/change-due-date`, { dueDate });
}

export function addInfo(loanId: string, action: 'patronInfoAdded' | 'staffInfoAdded', actionComment: string): Promise<void> {
  return post(`/circulation/loans/${loanId}/add-info`, { action, actionComment });
}

export function claimReturned(loanId: string, itemClaimedReturnedDateTime: string, comment: string): Promise<void> {
  return post(`/circulation/loans/${loanId}/claim-item-returned`, { itemClaimedReturnedDateTime, comment });
}

export function declareLost(loanId: string, servicePointId: string, comment: string): Promise<void> {
  return post(`/circulation/loans/${loanId}/declare-item-lost`, { servicePointId, comment, declaredLostDateTime: new Date().toISOString() });
}

export function declareMissing(loanId: string, comment: string): Promise<void> {
  return post(`/circulation/loans/${loanId}/declare-claimed-returned-item-as-missing`, { comment });
}

export function endPatronSession(patronId: string, actionType: 'Check-out' | 'Check-in'): Promise<void> {
  return post('/circulation/end-patron-action-session', { endSessions: [{ patronId, actionType }] });
}

export async function openLoanOfItem(itemId: string): Promise<Loan | undefined> {
  const path = withQuery('/circulation/loans', { query: `itemId==${itemId} and status.name==Open`, limit: 1 });
  return (await get<{ loans: Loan[] }>(path)).loans[0];
}

export async function loansOf(userId: string, status: 'Open' | 'Closed'): Promise<Loan[]> {
  const order = status === 'Open' ? 'dueDate' : 'systemReturnDate/sort.descending';
  const query = `userId==${userId} and status.name==${status} sortby ${order}`;
  return (await get<{ loans: Loan[] }>(withQuery('/circulation/loans', { query, limit: status === 'Open' ? PAGE : 100 }))).loans;
}

export function countLoans(query: string): Promise<number> {
  return count('/circulation/loans', query);
}

export async function requestsOf(userId: string): Promise<HoldRequest[]> {
  const query = `requesterId==${userId} and status=="Open*" sortby requestDate`;
  return (await get<{ requests: HoldRequest[] }>(withQuery('/circulation/requests', { query, limit: PAGE }))).requests;
}

export function countRequests(query: string): Promise<number> {
  return count('/circulation/requests', query);
}

async function count(path: string, query: string): Promise<number> {
  return (await get<{ totalRecords: number }>(withQuery(path, { query, limit: 0 }))).totalRecords;
}

export async function openAccounts(query: string): Promise<Account[]> {
  const path = withQuery('/accounts', { query: `(${query}) and status.name==Open`, limit: PAGE });
  return (await get<{ accounts: Account[] }>(path)).accounts;
}

export async function manualBlocks(userId: string): Promise<Manualblock[]> {
  const path = withQuery('/manualblocks', { query: `userId==${userId}`, limit: 100 });
  return (await get<{ manualblocks: Manualblock[] }>(path)).manualblocks;
}

export async function automatedBlocks(userId: string): Promise<AutomatedBlock[]> {
  return (await get<{ automatedPatronBlocks: AutomatedBlock[] }>(`/automated-patron-blocks/${userId}`)).automatedPatronBlocks;
}

export async function notesOf(userId: string): Promise<Note[]> {
  return (await get<{ notes: Note[] }>(`/note-links/domain/users/type/user/id/${userId}?status=assigned&limit=100`)).notes;
}

/** The sponsors of this user. */
export async function sponsorsOf(userId: string): Promise<{ user: User; expired: boolean }[]> {
  const path = withQuery('/proxiesfor', { query: `proxyUserId==${userId}`, limit: 100 });
  const { proxiesFor } = await get<{ proxiesFor: ProxiesFor[] }>(path);
  const users = await usersById(proxiesFor.map((one) => one.userId).filter((id) => id !== undefined));
  return users.map((user) => {
    const relation = proxiesFor.find((one) => one.userId === user.id);
    return { user, expired: relation?.status !== 'Active' || isPast(relation.expirationDate) || isPast(user.expirationDate) };
  });
}

export function isPast(instant: string | undefined | null, now = Date.now()): boolean {
  return instant !== undefined && instant !== null && new Date(instant).getTime() < now;
}

/** Waives all that remains of a fee/fine, by the tenant's first reason for waiving. */
export async function waive(account: Account, servicePointId: string, userName: string): Promise<void> {
  const { waivers } = await get<{ waivers: { nameReason: string }[] }>('/waives?limit=1&query=cql.allRecords=1 sortby nameReason');
  const reason = waivers[0]?.nameReason;
  if (reason === undefined) throw new Error(t('checkIn.noWaiveReason'));
  await post(`/accounts/${account.id ?? ''}/waive`, { amount: String(account.remaining ?? 0), notifyPatron: false, servicePointId, userName, paymentMethod: reason });
}

/** Gives an item that is in transit the status Available. */
export async function makeAvailable(itemId: string): Promise<void> {
  const item = await get<Item>(`/inventory/items/${itemId}`);
  const { inTransitDestinationServicePointId: _, ...rest } = item as Item & { inTransitDestinationServicePointId?: string };
  await put(`/inventory/items/${itemId}`, { ...rest, status: { name: 'Available' } });
}
