/*
 * Queries as the desk edits them: rows of field, operator and value, all of which must hold. Converts them from and to
 * FQL. A query that rows cannot express is kept unchanged.
 */
import type { MessageKey } from '../../text/messages.ts';
import type { EntityColumn } from './list-api.ts';

export const OPERATORS = ['$eq', '$ne', '$in', '$nin', '$contains', '$starts_with', '$gt', '$gte', '$lt', '$lte', '$empty'] as const;
export type Operator = (typeof OPERATORS)[number];

export interface Condition {
  field: string;
  operator: Operator;
  /** Several for `$in` and `$nin`; `true` or `false` for `$empty`. */
  values: string[];
}

/** The version of field and type names in queries. */
const VERSION = '24';

const COMPARISONS: readonly Operator[] = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$empty'];
const FREE_TEXT: readonly Operator[] = ['$eq', '$ne', '$contains', '$starts_with', '$empty'];
const CHOSEN: readonly Operator[] = ['$eq', '$ne', '$in', '$nin', '$empty'];
const IDS: readonly Operator[] = ['$eq', '$ne', '$in', '$nin', '$empty'];
const YES_OR_NO: readonly Operator[] = ['$eq', '$ne', '$empty'];

/** How the value of a field is typed in. */
export type Input = 'text' | 'number' | 'date' | 'boolean' | 'choice';

export function inputOf(column: EntityColumn): Input {
  const type = column.dataType.dataType;
  if (type === 'booleanType') return 'boolean';
  if (column.values || column.source || column.valueSourceApi) return 'choice';
  if (type === 'integerType' || type === 'numberType') return 'number';
  if (type === 'dateType' || type === 'dateTimeType') return 'date';
  return 'text';
}

export function operatorsOf(column: EntityColumn): readonly Operator[] {
  switch (inputOf(column)) {
    case 'boolean':
      return YES_OR_NO;
    case 'choice':
      return CHOSEN;
    case 'number':
    case 'date':
      return COMPARISONS;
    case 'text':
      return /UUIDType$/.test(column.dataType.dataType) ? IDS : FREE_TEXT;
  }
}

export const isSeveral = (operator: Operator) => operator === '$in' || operator === '$nin';

/** Writes the rows as FQL; a date of a field with time is sent as the instant at which the tenant's day begins. */
export function toFql(conditions: readonly Condition[], columns: ReadonlyMap<string, EntityColumn>, startOfDay: (day: string) => Date): string {
  const written = conditions.map(({ field, operator, values }) => {
    const type = columns.get(field)?.dataType.dataType ?? '';
    const typed = (text: string): unknown => {
      if (type === 'integerType' || type === 'numberType') return Number(text);
      if (type === 'dateTimeType') return startOfDay(text).toISOString().replace('Z', '');
      return text;
    };
    const value = operator === '$empty' ? values[0] !== 'false' : isSeveral(operator) ? values.map(typed) : typed(values[0] ?? '');
    return { [field]: { [operator]: value } };
  });
  const [only] = written;
  const body = written.length === 1 && only ? only : { $and: written };
  return JSON.stringify({ _version: VERSION, ...body });
}

/** Parses FQL into rows; undefined if rows cannot express it. */
export function fromFql(fql: string, columns: ReadonlyMap<string, EntityColumn>, dayOf: (instant: Date) => string): Condition[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(fql);
  } catch {
    return undefined;
  }
  return read(parsed);

  function read(node: unknown): Condition[] | undefined {
    if (node === null || typeof node !== 'object' || Array.isArray(node)) return undefined;
    const entries = Object.entries(node).filter(([key]) => key !== '_version');
    if (entries.length === 0) return [];
    const [entry, ...more] = entries;
    if (!entry || more.length > 0) return undefined;
    const [field, value] = entry;
    if (field === '$and') {
      if (!Array.isArray(value)) return undefined;
      const parts = value.map(read);
      return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
    }
    if (value === null || typeof value !== 'object') return undefined;
    const [pair, ...others] = Object.entries(value as Record<string, unknown>);
    const operator = OPERATORS.find((one) => one === pair?.[0]);
    const column = columns.get(field);
    if (!pair || others.length > 0 || operator === undefined || !column || !operatorsOf(column).includes(operator)) return undefined;
    const shown = (one: unknown) => (column.dataType.dataType === 'dateTimeType' && typeof one === 'string' && one.length > 10 ? dayOf(new Date(`${one.replace(/Z$/, '')}Z`)) : String(one));
    const values = Array.isArray(pair[1]) ? pair[1].map(shown) : [shown(pair[1])];
    return [{ field, operator, values }];
  }
}

/** Why the query is incomplete. */
export function problemOf(conditions: readonly Condition[], columns: ReadonlyMap<string, EntityColumn>): MessageKey | undefined {
  if (conditions.length === 0) return 'lists.needsCondition';
  for (const { field, operator, values } of conditions) {
    const column = columns.get(field);
    if (!column) return 'lists.needsField';
    if (operator === '$empty') continue;
    if (values.filter((value) => value.trim() !== '').length === 0) return 'lists.needsValue';
    if (inputOf(column) === 'number' && values.some((value) => value.trim() === '' || Number.isNaN(Number(value)))) return 'lists.needsNumber';
  }
  return undefined;
}

/** A value of a row as display text. */
export function shownCell(value: unknown, column: EntityColumn | undefined, formatDate: (text: string) => string): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map((one) => shownCell(one, undefined, formatDate)).join('; ');
  if (typeof value === 'object') return JSON.stringify(value);
  const type = column?.dataType.dataType;
  const text = String(value);
  if ((type === 'dateType' || type === 'dateTimeType') && /^\d{4}-\d\d-\d\d/.test(text)) return formatDate(text);
  return column?.values?.find((one) => one.value === text)?.label ?? text;
}
