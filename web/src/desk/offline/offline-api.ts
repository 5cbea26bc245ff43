import { get, quoted, withQuery } from '../../api/client.ts';
import type { Item, Loan } from '../../api/bodies.ts';
import type { Manualblock } from '../../api/schema.ts';
import { checkIn, checkOut, isPast, usersById } from '../circulation-api.ts';
import type { UploadApi } from './upload.ts';

export const uploadApi: UploadApi = {
  loansOfItem: async (barcode) => {
    const { items } = await get<{ items: Item[] }>(withQuery('/inventory/items', { query: `barcode==${quoted(barcode)}`, limit: 1 }));
    const item = items[0];
    if (!item) return undefined;
    const query = `itemId==${item.id} sortby loanDate/sort.descending`;
    return (await get<{ loans: Loan[] }>(withQuery('/circulation/loans', { query, limit: 20 }))).loans;
  },
  checkOut,
  checkIn,
};

const MOST_BLOCKS = 5_000;

/** Barcodes of patrons with a manual block on borrowing. */
export async function blockedCards(): Promise<string[]> {
  const path = withQuery('/manualblocks', { query: 'borrowing==true', limit: MOST_BLOCKS });
  const { manualblocks } = await get<{ manualblocks: Manualblock[] }>(path);
  const ids = [...new Set(manualblocks.filter((block) => !isPast(block.expirationDate)).map((block) => block.userId))];
  const cards: string[] = [];
  for (let at = 0; at < ids.length; at += 50) {
    const users = await usersById(ids.slice(at, at + 50));
    cards.push(...users.map((user) => user.barcode ?? '').filter((barcode) => barcode !== ''));
  }
  return cards;
}
