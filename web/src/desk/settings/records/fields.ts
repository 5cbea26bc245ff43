/* The fields of a record that staff edit: label, path in the record, and condition. */
import type { MessageKey } from '../../../text/messages.ts';

export type Json = Record<string, unknown>;

interface At {
  /** Path within the record, with dots. */
  at: string;
  label: MessageKey;
  required?: boolean;
  hint?: MessageKey;
  /** Whether the field applies; one that does not is not shown and not saved. */
  when?: (record: Json) => boolean;
}

export type Field =
  | { kind: 'heading'; label: MessageKey; when?: (record: Json) => boolean }
  | (At & { kind: 'text'; rows?: number })
  | (At & { kind: 'number'; whole?: boolean })
  | (At & { kind: 'date' })
  | (At & { kind: 'time' })
  | (At & { kind: 'yesNo'; /** The record must have it: no, where it does not apply. */ always?: boolean })
  | (At & { kind: 'choice'; options: readonly string[] })
  | (At & { kind: 'choices'; options: readonly string[] })
  /** `{duration, intervalId}`. */
  | (At & { kind: 'period'; units: readonly string[] })
  /** `{quantity, intervalId}`. */
  | (At & { kind: 'rate'; units: readonly string[] })
  | (At & { kind: 'reference'; of: ReferenceName })
  | (At & { kind: 'references'; of: ReferenceName; /** How the ids are stored; plain by default. */ stored?: 'valueAndLabel' })
  | (At & { kind: 'list'; of: readonly Field[]; add: MessageKey; blank: Json });

export type ReferenceName = 'servicePoints' | 'institutions' | 'campuses' | 'libraries' | 'schedules' | 'templates' | 'owners' | 'blockTemplates' | 'staffSlips' | 'groups';

/** The value at a path; undefined if a part of the path is missing. */
export function valueAt(record: Json, path: string): unknown {
  let value: unknown = record;
  for (const part of path.split('.')) {
    if (value === null || typeof value !== 'object') return undefined;
    value = (value as Json)[part];
  }
  return value;
}

/** The record with another value at a path; undefined removes the value and objects that become empty. */
export function withValue(record: Json, path: string, value: unknown): Json {
  const [first = '', ...rest] = path.split('.');
  const copy = { ...record };
  let next = value;
  if (rest.length > 0) {
    const inner = record[first];
    const changed = withValue(inner !== null && typeof inner === 'object' ? (inner as Json) : {}, rest.join('.'), value);
    next = Object.keys(changed).length === 0 ? undefined : changed;
  }
  if (next === undefined) delete copy[first];
  else copy[first] = next;
  return copy;
}

export const applies = (field: Field, record: Json) => field.when === undefined || field.when(record);

/** The record as it is sent: without fields that do not apply and without texts that are empty. */
export function prepared(record: Json, fields: readonly Field[]): Json {
  let result = record;
  const shown = new Set(fields.flatMap((field) => (field.kind !== 'heading' && applies(field, record) ? [field.at] : [])));
  for (const field of fields) {
    if (field.kind === 'heading') continue;
    const value = valueAt(result, field.at);
    if (!shown.has(field.at) || isBlank(value)) {
      result = withValue(result, field.at, absent(field, shown.has(field.at)));
    } else if (field.kind === 'list') {
      result = withValue(result, field.at, (value as Json[]).map((one) => prepared(one, field.of)));
    } else if (field.kind === 'text' && typeof value === 'string') {
      result = withValue(result, field.at, value.trim());
    }
  }
  return result;
}

/** The value sent for an empty field: `[]` for a list that is shown, `false` for a Boolean that is always sent. */
function absent(field: Field, isShown: boolean) {
  if (field.kind === 'list' && isShown) return [];
  return field.kind === 'yesNo' && field.always ? false : undefined;
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (typeof value !== 'object' || Array.isArray(value)) return false;
  const { duration, quantity } = value as { duration?: unknown; quantity?: unknown };
  return 'intervalId' in value && (duration === undefined || duration === '') && (quantity === undefined || quantity === '');
}

/** The first field that is required and empty. */
export function missingField(record: Json, fields: readonly Field[]): MessageKey | undefined {
  for (const field of fields) {
    if (field.kind === 'heading' || !applies(field, record)) continue;
    const value = valueAt(record, field.at);
    if (field.required && (isBlank(value) || (Array.isArray(value) && value.length === 0))) return field.label;
    if (field.kind !== 'list' || !Array.isArray(value)) continue;
    for (const one of value as Json[]) {
      const missing = missingField(one, field.of);
      if (missing) return missing;
    }
  }
  return undefined;
}

/** Parses typed text to a number; undefined if it is not a number. */
export function numberOf(text: string): number | undefined {
  const number = Number(text.replace(',', '.'));
  return text.trim() === '' || Number.isNaN(number) ? undefined : number;
}
