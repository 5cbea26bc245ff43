/* The lists that the numbers of a dashboard count, one page at a time. */
import { get, withQuery } from '../../api/client.ts';
import type { Item, Loan } from '../../api/bodies.ts';
import { PAGE_SIZE } from '../../parts/useSearch.ts';
import { circulationLog } from '../circulation-log.ts';
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

/** Actions of the circulation log, in which the dashboard counts, too. */
const ACTIONS = {
  checkOut: ['Checked out', 'Checked out through override'],
  checkIn: ['Checked in'],
  renewal: ['Renewed', 'Renewed through override'],
};

/** CQL for each list: since an instant, or open at an instant. */
export function queryBehind(behind: Behind, since: Date, now: Date): string {
  switch (behind) {
    case 'checkOut':
    case 'renewal':
    case 'checkIn':
      return `action==(${ACTIONS[behind].map((action) => `"${action}"`).join(' or ')}) and date>="${since.toISOString()}" sortby date/sort.descending`;
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
  const { logRecords, totalRecords } = await circulationLog(page);
  const rows = logRecords.map(({ id, date, servicePointId, items, linkToIds }) => ({ key: id, itemId: items?.[0]?.itemId ?? '', at: date, userId: linkToIds?.userId, servicePointId }));
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
  const ids = [...new Set(rows.map((row) => row.itemId))].filter((id) => id !== '');
  if (ids.length === 0) return rows;
  const { items } = await get<{ items: Item[] }>(withQuery('/inventory/items', { query: `id==(${ids.join(' or ')})`, limit: ids.length }));
  const known = new Map(items.map((item) => [item.id, item]));
  return rows.map((row) => ({ ...row, title: known.get(row.itemId)?.title, barcode: known.get(row.itemId)?.barcode }));
}
