import { describe, expect, it } from 'vitest';
import type { Item } from '../../api/bodies.ts';
import { draftOf, problemOf, withDraft } from './item-draft.ts';

const ITEM = {
  id: 'i1',
  _version: '3',
  barcode: '39',
  copyNumber: '2',
  status: { name: 'Available' },
  holdingsRecordId: 'h1',
  materialType: { id: 'book', name: 'Book' },
  permanentLoanType: { id: 'usual', name: 'Can circulate' },
  temporaryLocation: { id: 'annex', name: 'Annex' },
  administrativeNotes: ['one', 'two'],
  circulationNotes: [{ id: 'n1', noteType: 'Check out', note: 'Count the maps' }],
  accessionNumber: 'unknown to the desk',
} as Item;

describe('an edited item', () => {
  it('is sent as it was where nothing is changed', () => {
    const { materialType, permanentLoanType, temporaryLocation, ...rest } = withDraft(ITEM, draftOf(ITEM)) as Item & { accessionNumber: string };
    expect([materialType, permanentLoanType, temporaryLocation]).toEqual([{ id: 'book' }, { id: 'usual' }, { id: 'annex' }]);
    expect(rest).toMatchObject({ _version: '3', barcode: '39', copyNumber: '2', accessionNumber: 'unknown to the desk', administrativeNotes: ['one', 'two'] });
  });
  it('loses what was emptied', () => {
    const draft = draftOf(ITEM);
    const changed = withDraft(ITEM, { ...draft, texts: { ...draft.texts, copyNumber: ' ' }, references: { ...draft.references, temporaryLocation: '' }, circulationNotes: [], administrativeNotes: '\n two \n' });
    expect(changed).not.toHaveProperty('copyNumber');
    expect(changed).not.toHaveProperty('temporaryLocation');
    expect([changed.circulationNotes, changed.administrativeNotes]).toEqual([[], ['two']]);
  });
  it('needs its types, and text in its notes', () => {
    const draft = draftOf(ITEM);
    expect(problemOf(draft)).toBeUndefined();
    expect(problemOf({ ...draft, references: { ...draft.references, permanentLoanType: '' } })).toBe('items.needsTypes');
    expect(problemOf({ ...draft, circulationNotes: [{ noteType: 'Check in', note: ' ' }] })).toBe('items.emptyNote');
  });
});
