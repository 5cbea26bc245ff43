import { describe, expect, it } from 'vitest';
import type { Item } from '../api/bodies.ts';
import { type Ask, askBefore, promptsBefore } from './prompts.ts';

const item = (fields: Partial<Item> = {}): Item => ({ id: 'i', holdingsRecordId: 'h', status: { name: 'Available' }, ...fields });
const everything = item({
  status: { name: 'Missing' },
  numberOfPieces: '3',
  circulationNotes: [
    { noteType: 'Check out', note: 'Count the maps' },
    { noteType: 'Check in', note: 'Check the maps' },
  ],
});

describe('questions before a scan is sent', () => {
  it('are none for an ordinary item', () => {
    expect(promptsBefore('checkOut', item())).toEqual([]);
    expect(promptsBefore('checkIn', item())).toEqual([]);
  });

  it('at check-out are status, notes, pieces', () => {
    expect(promptsBefore('checkOut', everything).map((prompt) => prompt.name)).toEqual(['confirmStatus', 'itemNotes', 'pieces']);
  });

  it('at check-in are status, pieces, notes', () => {
    expect(promptsBefore('checkIn', everything).map((prompt) => prompt.name)).toEqual(['confirmStatus', 'pieces', 'itemNotes']);
  });

  it('at check-in begin with how a claimed returned item came back', () => {
    const claimed = item({ status: { name: 'Claimed returned' }, missingPieces: 'the CD' });
    expect(promptsBefore('checkIn', claimed).map((prompt) => prompt.name)).toEqual(['claimedReturned', 'pieces']);
  });

  it('show only the notes of the task', () => {
    const shown = promptsBefore('checkIn', everything).flatMap((prompt) => (prompt.name === 'itemNotes' ? prompt.notes : []));
    expect(shown.map((note) => note.note)).toEqual(['Check the maps']);
  });

  it('end when one is cancelled', async () => {
    const asked: string[] = [];
    const ask = (async (name: string) => {
      asked.push(name);
      return name === 'pieces' ? undefined : true;
    }) as Ask;
    expect(await askBefore('checkIn', everything, ask)).toBeUndefined();
    expect(asked).toEqual(['confirmStatus', 'pieces']);
  });

  it('bring the resolution of a claim', async () => {
    const ask = (async () => 'Found by library') as unknown as Ask;
    expect(await askBefore('checkIn', item({ status: { name: 'Claimed returned' } }), ask)).toEqual({
      claimedReturnedResolution: 'Found by library',
    });
  });
});
