/* The lists that the numbers of a dashboard count, one page at a time. */
import { get, withQuery } from '../../api/client.ts';
import type { Item, Loan } from '../../api/bodies.ts';
import { PAGE_SIZE } from '../../parts/useSearch.ts';
import { usersById } from '../circulation-api.ts';
import { nameOfBorrower, nameOfUser } from '../people.ts';

export const BEHIND = ['checkOut', 'checkIn', 'renewal', 'open', 'overdue'] as const;
export type Behind = (typeof BEHIND)[number];

export interface BehindRow {
  key: string;
  itemId: string;
  title?: string | undefined;
  barcode?: string | undefined;
  /** When it happened, or when the loan is due. */
  at: string;
  userId?: string | undefined;
  /** The name of the user. */
  patron?: string | undefined;
  servicePointId?: string | undefined;
}

export interface BehindPage {
  rows: BehindRow[];
  total: number;
}

interface History {
  loansHistory: { id: string; createdDate: string; loan: Loan & { checkoutServicePointId?: string } }[];
  totalRecords: number;
}

interface CheckIns {
  checkIns: { id: string; occurredDateTime: string; itemId: string; servicePointId: string }[];
  totalRecords: number;
}

/** CQL for each list: since an instant, or open at an instant. */
export function queryBehind(behind: Behind, since: Date, now: Date): string {
  const from = since.toISOString();
  switch (behind) {
    case 'checkOut':
      return `operation==I and createdDate>="${from}" sortby createdDate/sort.descending`;
    case 'renewal':
      return `operation==U and createdDate>="${from}" and (loan.action==renewed or loan.action==renewedThroughOverride) sortby createdDate/sort.descending`;
    case 'checkIn':
      return `occurredDateTime>="${from}" sortby occurredDateTime/sort.descending`;
    case 'open':
      return 'status.name==Open sortby dueDate';
    case 'overdue':
      return `status.name==Open and dueDate<"${now.toISOString()}" sortby dueDate`;
  }
}

export async function loadBehind(behind: Behind, since: Date, offset: number): Promise<BehindPage> {
  const page = { query: queryBehind(behind, since, new Date()), limit: PAGE_SIZE, offset };
  if (behind === 'open' || behind === 'overdue') {
    const { loans, totalRecords } = await get<{ loans: Loan[]; totalRecords: number }>(withQuery('/circulation/loans', page));
    return { total: totalRecords, rows: loans.map((loan) => ({ key: loan.id, itemId: loan.itemId, title: loan.item.title, barcode: loan.item.barcode, at: loan.dueDate, userId: loan.userId, patron: nameOfBorrower(loan.borrower) })) };
  }
  if (behind === 'checkIn') {
    const { checkIns, totalRecords } = await get<CheckIns>(withQuery('/check-in-storage/check-ins', page));
    const rows = checkIns.map((one) => ({ key: one.id, itemId: one.itemId, at: one.occurredDateTime, servicePointId: one.servicePointId }));
    return { total: totalRecords, rows: await withTitles(rows) };
  }
  const { loansHistory, totalRecords } = await get<History>(withQuery('/loan-storage/loan-history', page));
  const rows = loansHistory.map(({ id, createdDate, loan }) => ({ key: id, itemId: loan.itemId, at: createdDate, userId: loan.userId, servicePointId: loan.checkoutServicePointId }));
  return { total: totalRecords, rows: await withTitles(await withNames(rows)) };
}

/** Names of the users of a page, in one call; without the permission there are none. */
async function withNames(rows: BehindRow[]): Promise<BehindRow[]> {
  const ids = [...new Set(rows.map((row) => row.userId).filter((id) => id !== undefined))];
  const users = await usersById(ids).catch(() => []);
  const names = new Map(users.map((user) => [user.id, nameOfUser(user)]));
  return rows.map((row) => ({ ...row, patron: names.get(row.userId) }));
}

/** Titles and barcodes of a page of items, with one call. */
async function withTitles(rows: BehindRow[]): Promise<BehindRow[]> {
  const ids = [...new Set(rows.map((row) => row.itemId))];
  if (ids.length === 0) return rows;
  const { items } = await get<{ items: Item[] }>(withQuery('/inventory/items', { query: `id==(${ids.join(' or ')})`, limit: ids.length }));
  const known = new Map(items.map((item) => [item.id, item]));
  return rows.map((row) => ({ ...row, title: known.get(row.itemId)?.title, barcode: known.get(row.itemId)?.barcode }));
}
