import { describe, expect, it } from 'vitest';
import { type Field, missingField, numberOf, prepared, valueAt, withValue } from './fields.ts';
import { KINDS_OF_RECORDS } from './kinds.ts';

const FIELDS: readonly Field[] = [
  { kind: 'text', at: 'name', label: 'field.name', required: true },
  { kind: 'yesNo', at: 'loanable', label: 'field.loanable' },
  { kind: 'period', at: 'loansPolicy.period', label: 'field.period', units: ['Days'], required: true, when: (record) => record['loanable'] === true },
  { kind: 'list', at: 'schedules', label: 'field.schedules', add: 'field.addSchedule', blank: {}, of: [{ kind: 'date', at: 'due', label: 'field.due', required: true }] },
];

describe('a field of a record', () => {
  it('is read and changed by its path', () => {
    const record = { loansPolicy: { period: { duration: 2, intervalId: 'Days' }, itemLimit: 3 } };
    expect(valueAt(record, 'loansPolicy.period.duration')).toBe(2);
    expect(withValue(record, 'loansPolicy.period', undefined)).toEqual({ loansPolicy: { itemLimit: 3 } });
    expect(withValue({}, 'a.b', 1)).toEqual({ a: { b: 1 } });
    expect(withValue({ a: { b: 1 } }, 'a.b', undefined)).toEqual({});
  });

  it('that does not apply is not sent, and what is not edited stays', () => {
    const sent = prepared({ id: '1', name: ' Book ', loanable: false, loansPolicy: { period: { duration: 2, intervalId: 'Days' } }, schedules: [{ due: '' }] }, FIELDS);
    expect(sent).toEqual({ id: '1', name: 'Book', loanable: false, schedules: [{}] });
  });

  it('stays where another field for the same value applies', () => {
    const twice: readonly Field[] = [
      { kind: 'text', at: 'limit', label: 'field.schedule', when: (record) => record['fixed'] === true },
      { kind: 'text', at: 'limit', label: 'field.scheduleLimit', when: (record) => record['fixed'] !== true },
    ];
    expect(prepared({ limit: 'x' }, twice)).toEqual({ limit: 'x' });
  });

  it('that the record must have is answered with no where it does not apply', () => {
    const fields: Field[] = [{ kind: 'yesNo', at: 'renewable', label: 'field.renewable', always: true, when: (record) => record['loanable'] === true }];
    expect(prepared({ loanable: false, renewable: true }, fields)).toEqual({ loanable: false, renewable: false });
  });

  it('that is required is missed only where it applies', () => {
    expect(missingField({ loanable: true }, FIELDS)).toBe('field.name');
    expect(missingField({ name: 'n', loanable: true, loansPolicy: { period: { intervalId: 'Days' } } }, FIELDS)).toBe('field.period');
    expect(missingField({ name: 'n', loanable: false }, FIELDS)).toBeUndefined();
    expect(missingField({ name: 'n', schedules: [{}] }, FIELDS)).toBe('field.due');
  });

  it('may have a decimal comma', () => {
    expect([numberOf('1,5'), numberOf(''), numberOf('a')]).toEqual([1.5, undefined, undefined]);
  });
});

describe('the kinds of records', () => {
  it('have names of their own, and a name field that is required', () => {
    const names = KINDS_OF_RECORDS.map((kind) => kind.name);
    expect(new Set(names).size).toBe(names.length);
    for (const kind of KINDS_OF_RECORDS) {
      expect([kind.name, kind.fields.some((field) => field.kind !== 'heading' && field.at === kind.nameAt)]).toEqual([kind.name, true]);
    }
  });
});
