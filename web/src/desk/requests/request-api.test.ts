import { describe, expect, it } from 'vitest';
import { csv, moved, requestQuery } from './request-api.ts';

describe('a search among requests', () => {
  it('combines its filters', () => {
    expect(requestQuery({ text: '', type: 'Hold', status: 'open', pickup: 'p' })).toBe(
      'requestType=="Hold" and status=="Open*" and pickupServicePointId==p sortby requestDate',
    );
    expect(requestQuery({ text: '', type: '', status: 'all', pickup: '' })).toBe('cql.allRecords=1 sortby requestDate');
  });
  it('takes quotes and wildcards in the text for what they are', () => {
    expect(requestQuery({ text: 'a"b*', type: '', status: 'all', pickup: '' })).toContain('requester.barcode=="a\\"b\\*"');
  });
});

describe('a queue', () => {
  it('moves one request and keeps the order of the others', () => {
    expect(moved(['a', 'b', 'c', 'd'], 'c', 0)).toEqual(['c', 'a', 'b', 'd']);
    expect(moved(['a', 'b', 'c', 'd'], 'a', 3)).toEqual(['b', 'c', 'd', 'a']);
    expect(moved(['a', 'b'], 'a', 99)).toEqual(['b', 'a']);
  });
});

describe('a file for spreadsheets', () => {
  it('quotes values and disarms formulas', () => {
    expect(csv([['a "b"', '=1+1', undefined]])).toBe('"a ""b""","\'=1+1",""');
  });
});
