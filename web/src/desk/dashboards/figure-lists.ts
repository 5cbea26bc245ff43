/* The lists that the figures of a dashboard count, one page at a time. */
import { get, withQuery } from '../../api/client.ts';
import type { Item, Loan } from '../../api/bodies.ts';
import { PAGE_SIZE } from '../../parts/useSearch.ts';
import { circulationLog } from '../circulation-log.ts';
import { usersById } from '../circulation-api.ts';
import { nameOfBorrower, nameOfUser } from '../people.ts';

export const COUNTED_FIGURES = ['checkOut', 'checkIn', 'renewal', 'open', 'overdue', 'longTransits', 'noticesSent', 'noticesFailed'] as const;
export type CountedFigure = (typeof COUNTED_FIGURES)[number];

export interface FigureRow {
  key: string;
  itemId: string;
  title?: string | undefined;
  barcode?: string | undefined;
  /** When it happened, or when the loan is due. */
  at: string;
  userId?: string | undefined;
  /** The name of the user. */
  patron?: string | undefined;
  /** Where it happened, or where the item goes. */
  servicePointId?: string | undefined;
  /** The text of a log entry. */
  description?: string | undefined;
}

export interface FigurePage {
  rows: FigureRow[];
  total: number;
}

/** Actions of the circulation log, in which the dashboard counts, too. */
const ACTIONS = {
  checkOut: ['Checked out', 'Checked out through override'],
  checkIn: ['Checked in'],
  renewal: ['Renewed', 'Renewed through override'],
  noticesSent: ['Send'],
  noticesFailed: ['Send error'],
};

const HOUR_MS = 3_600_000;
/** The server's bound of a long transit. */
const LONG_TRANSIT_MS = 72 * HOUR_MS;
/** The server counts notices of this time. */
const NOTICES_MS = 24 * HOUR_MS;

/** CQL for each list: since an instant, or open at an instant. */
export function figureQuery(figure: CountedFigure, since: Date, now: Date): string {
  switch (figure) {
    case 'checkOut':
    case 'renewal':
    case 'checkIn':
      return `action==(${ACTIONS[figure].map((action) => `"${action}"`).join(' or ')}) and date>="${since.toISOString()}" sortby date/sort.descending`;
    case 'noticesSent':
    case 'noticesFailed':
      return `object=="Notice" and action=="${ACTIONS[figure][0] ?? ''}" and date>="${new Date(now.getTime() - NOTICES_MS).toISOString()}" sortby date/sort.descending`;
    case 'longTransits':
      return `status.name=="In transit" and status.date<"${new Date(now.getTime() - LONG_TRANSIT_MS).toISOString()}"`;
    case 'open':
      return 'status.name==Open sortby dueDate';
    case 'overdue':
      return `status.name==Open and dueDate<"${now.toISOString()}" sortby dueDate`;
  }
}

export async function loadFigureList(figure: CountedFigure, since: Date, offset: number): Promise<FigurePage> {
  const page = { query: figureQuery(figure, since, new Date()), limit: PAGE_SIZE, offset };
  if (figure === 'open' || figure === 'overdue') {
    const { loans, totalRecords } = await get<{ loans: Loan[]; totalRecords: number }>(withQuery('/circulation/loans', page));
    return { total: totalRecords, rows: loans.map((loan) => ({ key: loan.id, itemId: loan.itemId, title: loan.item.title, barcode: loan.item.barcode, at: loan.dueDate, userId: loan.userId, patron: nameOfBorrower(loan.borrower) })) };
  }
  if (figure === 'longTransits') {
    const { items, totalRecords } = await get<{ items: (Item & { inTransitDestinationServicePointId?: string })[]; totalRecords: number }>(withQuery('/inventory/items', page));
    return { total: totalRecords, rows: items.map((item) => ({ key: item.id, itemId: item.id, title: item.title, barcode: item.barcode, at: item.status.date ?? '', servicePointId: item.inTransitDestinationServicePointId })) };
  }
  const { logRecords, totalRecords } = await circulationLog(page);
  const rows = logRecords.map(({ id, date, servicePointId, items, linkToIds, description }) => ({ key: id, itemId: items?.[0]?.itemId ?? '', at: date, userId: linkToIds?.userId, servicePointId, description }));
  return { total: totalRecords, rows: await withTitles(await withNames(rows)) };
}

/** Names of the users of a page, in one call; without the permission there are none. */
async function withNames(rows: FigureRow[]): Promise<FigureRow[]> {
  const ids = [...new Set(rows.map((row) => row.userId).filter((id) => id !== undefined))];
  const users = await usersById(ids).catch(() => []);
  const names = new Map(users.map((user) => [user.id, nameOfUser(user)]));
  return rows.map((row) => ({ ...row, patron: names.get(row.userId) }));
}

/** Titles and barcodes of a page of items, with one call. */
async function withTitles(rows: FigureRow[]): Promise<FigureRow[]> {
  const ids = [...new Set(rows.map((row) => row.itemId))].filter((id) => id !== '');
  if (ids.length === 0) return rows;
  const { items } = await get<{ items: Item[] }>(withQuery('/inventory/items', { query: `id==(${ids.join(' or ')})`, limit: ids.length }));
  const known = new Map(items.map((item) => [item.id, item]));
  return rows.map((row) => ({ ...row, title: known.get(row.itemId)?.title, barcode: known.get(row.itemId)?.barcode }));
}
