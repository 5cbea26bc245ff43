/* The item of a scan: by its barcode, or chosen among those that begin as the scan does. */
import type { Item } from '../../api/bodies.ts';
import { findItems } from '../circulation-api.ts';
import type { DeskTools } from '../desk-tools.ts';

/** Staff cancelled a question about a scan. */
export class Cancelled extends Error {}

/** Whether the scan asks for all items that begin with it. */
export function isWildcard(barcode: string, tools: DeskTools): boolean {
  return tools.settings().wildcardLookup && barcode.length > 1 && barcode.endsWith('*');
}

/** Undefined where there is no such item. */
export async function findItem(barcode: string, tools: DeskTools): Promise<Item | undefined> {
  const wildcard = isWildcard(barcode, tools);
  const found = await findItems(barcode, wildcard);
  if (!wildcard || found.items.length < 2) return found.items[0];
  const chosen = await tools.ask('chooseItem', found);
  if (!chosen) throw new Cancelled();
  return chosen;
}
