/* Fills a staff slip's template. Values are inserted as text, never as markup. */
import type { SlipPart, StaffSlipContext } from '../../api/bodies.ts';
import { formatDate, formatDateTime } from '../../text/dates.ts';

/** Values by token, without the braces. */
export type SlipValues = Record<string, string>;

const INSTANTS: Record<string, (instant: string) => string> = {
  'item.lastCheckedInDateTime': formatDateTime,
  'request.requestDate': formatDate,
  'request.requestExpirationDate': formatDate,
  'request.holdShelfExpirationDate': formatDateTime,
  'staffSlip.currentDateTime': formatDateTime,
  'loan.dueDate': formatDateTime,
};

/** The tokens of a slip from a check-in or pick slip response. */
export function slipValues(context: StaffSlipContext, slipName: string, staffUsername: string, now = new Date()): SlipValues {
  const values: SlipValues = {};
  const add = (prefix: string, part: SlipPart | undefined) => {
    for (const [name, value] of Object.entries(part ?? {})) values[`${prefix}.${name}`] = value ?? '';
  };
  add('item', context.item);
  add('request', context.request);
  add('requester', context.requester);
  values['staffSlip.Name'] = slipName;
  values['staffSlip.staffUsername'] = staffUsername;
  values['staffSlip.currentDateTime'] = context.currentDateTime ?? now.toISOString();
  for (const [token, format] of Object.entries(INSTANTS)) {
    if (values[token]) values[token] = format(values[token]);
  }
  return values;
}

/** Tokens that are drawn as a barcode, with the token that supplies the value. */
export const BARCODES: Record<string, string> = {
  'item.barcodeImage': 'item.barcode',
  'item.instanceHridImage': 'item.instanceHrid',
  'requester.barcodeImage': 'requester.barcode',
  'request.barcodeImage': 'request.requestID',
};

export type SlipText = { kind: 'text'; text: string } | { kind: 'barcode'; value: string };

/** Replaces the tokens of a text by their values. */
export function fillText(text: string, values: SlipValues): SlipText[] {
  const parts: SlipText[] = [];
  let at = 0;
  for (const match of text.matchAll(/\{\{\s*([\w.]+)\s*\}\}/g)) {
    if (match.index > at) parts.push({ kind: 'text', text: text.slice(at, match.index) });
    const token = match[1] ?? '';
    const shown = BARCODES[token];
    const value = values[shown ?? token] ?? '';
    if (shown !== undefined) {
      if (value !== '') parts.push({ kind: 'barcode', value });
    } else parts.push({ kind: 'text', text: value });
    at = match.index + match[0].length;
  }
  if (at < text.length) parts.push({ kind: 'text', text: text.slice(at) });
  return parts;
}
