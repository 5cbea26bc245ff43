/* Finds the item of a scan: by its barcode, or selected by staff among those whose barcode begins with it. */
import type { Item } from '../../api/bodies.ts';
import { findItems } from '../circulation-api.ts';
import type { DeskTools } from '../desk-tools.ts';
import { hasWrongCheckDigit } from './check-digit.ts';

/** Staff cancelled a question about a scan. */
export class Cancelled extends Error {}

/** Whether the scan asks for all items that begin with it. */
export function isWildcard(barcode: string, tools: DeskTools): boolean {
  return tools.settings().wildcardLookup && barcode.length > 1 && barcode.endsWith('*');
}

/** Asks about a barcode that was probably misread; undefined if there is nothing to ask, so that the scan does not wait. */
export function askAboutCheckDigit(barcode: string, tools: DeskTools): Promise<void> | undefined {
  if (!tools.checksDigits() || !hasWrongCheckDigit(barcode)) return undefined;
  return tools.ask('checkDigit', { barcode }).then((answer) => {
    if (!answer) throw new Cancelled();
  });
}

/** The item; undefined if there is none. */
export async function findItem(barcode: string, tools: DeskTools): Promise<Item | undefined> {
  const wildcard = isWildcard(barcode, tools);
  const found = await findItems(barcode, wildcard);
  if (!wildcard || found.items.length < 2) return found.items[0];
  const chosen = await tools.ask('chooseItem', found);
  if (!chosen) throw new Cancelled();
  return chosen;
}
