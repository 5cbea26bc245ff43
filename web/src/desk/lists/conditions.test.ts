import { describe, expect, it } from 'vitest';
import { type Condition, fromFql, operatorsOf, problemOf, shownCell, toFql } from './conditions.ts';
import type { EntityColumn } from './list-api.ts';

const column = (name: string, dataType: string, more: Partial<EntityColumn> = {}): [string, EntityColumn] => [
  name,
  { name, labelAlias: name, dataType: { dataType }, queryable: true, visibleByDefault: true, ...more },
];
const COLUMNS = new Map([
  column('title', 'stringType'),
  column('status', 'stringType', { values: [{ value: 'Missing', label: 'missing!' }] }),
  column('copies', 'integerType'),
  column('created', 'dateTimeType'),
  column('suppressed', 'booleanType'),
  column('id', 'rangedUUIDType'),
]);
// The tenant's day begins five hours after that of UTC.
const startOfDay = (day: string) => new Date(`${day}T05:00:00Z`);
const dayOf = (instant: Date) => instant.toISOString().slice(0, 10);
const write = (...conditions: Condition[]) => toFql(conditions, COLUMNS, startOfDay);
const read = (fql: string) => fromFql(fql, COLUMNS, dayOf);

const SAMPLES: [Condition[], string][] = [
  [[{ field: 'title', operator: '$contains', values: ['whale'] }], '{"_version":"24","title":{"$contains":"whale"}}'],
  [[{ field: 'status', operator: '$in', values: ['Missing', 'Lost'] }], '{"_version":"24","status":{"$in":["Missing","Lost"]}}'],
  [[{ field: 'title', operator: '$empty', values: ['false'] }], '{"_version":"24","title":{"$empty":false}}'],
  [
    [
      { field: 'copies', operator: '$gte', values: ['3'] },
      { field: 'created', operator: '$lt', values: ['2026-05-01'] },
    ],
    '{"_version":"24","$and":[{"copies":{"$gte":3}},{"created":{"$lt":"2026-05-01T05:00:00.000"}}]}',
  ],
];

describe('a query', () => {
  it.each(SAMPLES)('%j is written as FQL and read again', (conditions, fql) => {
    expect(write(...conditions)).toBe(fql);
    expect(read(fql)).toEqual(conditions);
  });
  it('that says more than rows is not taken apart', () => {
    expect(read('{"title":{"$regex":"^a"}}')).toBeUndefined();
    expect(read('{"unknown":{"$eq":"a"}}')).toBeUndefined();
    expect(read('not JSON')).toBeUndefined();
  });
  it('may be nested', () => {
    expect(read('{"$and":[{"title":{"$eq":"a"}},{"$and":[{"title":{"$ne":"b"}}]}]}')).toHaveLength(2);
  });
  it('offers the operators of the type', () => {
    const of = (name: string) => operatorsOf(COLUMNS.get(name) as EntityColumn);
    expect(of('suppressed')).toEqual(['$eq', '$ne', '$empty']);
    expect(of('status')).toContain('$in');
    expect(of('title')).toContain('$starts_with');
    expect(of('created')).toContain('$lte');
  });
  it('needs fields and values', () => {
    expect(problemOf([], COLUMNS)).toBe('lists.needsCondition');
    expect(problemOf([{ field: '', operator: '$eq', values: ['a'] }], COLUMNS)).toBe('lists.needsField');
    expect(problemOf([{ field: 'title', operator: '$eq', values: [' '] }], COLUMNS)).toBe('lists.needsValue');
    expect(problemOf([{ field: 'copies', operator: '$eq', values: ['many'] }], COLUMNS)).toBe('lists.needsNumber');
    expect(problemOf([{ field: 'title', operator: '$empty', values: ['true'] }], COLUMNS)).toBeUndefined();
  });
});

describe('a cell', () => {
  it('shows dates, names of values and lists', () => {
    expect(shownCell('2026-05-01', COLUMNS.get('created'), (text) => `<${text}>`)).toBe('<2026-05-01>');
    expect(shownCell('Missing', COLUMNS.get('status'), String)).toBe('missing!');
    expect(shownCell(['a', null, 'b'], COLUMNS.get('title'), String)).toBe('a; ; b');
    expect(shownCell(null, undefined, String)).toBe('');
  });
});
