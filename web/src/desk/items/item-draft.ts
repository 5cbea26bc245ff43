/* The fields of an item that the desk edits: initial values, validation, and the body that is sent. */
import type { CirculationNote, Item } from '../../api/bodies.ts';
import type { MessageKey } from '../../text/messages.ts';

const TEXTS = ['barcode', 'copyNumber', 'volume', 'enumeration', 'chronology', 'numberOfPieces', 'descriptionOfPieces', 'numberOfMissingPieces', 'missingPieces'] as const;
const REFERENCES = ['materialType', 'permanentLoanType', 'temporaryLoanType', 'permanentLocation', 'temporaryLocation'] as const;

export type TextField = (typeof TEXTS)[number];
export type ReferenceField = (typeof REFERENCES)[number];

export interface ItemDraft {
  texts: Record<TextField, string>;
  /** Ids; empty without a value. */
  references: Record<ReferenceField, string>;
  circulationNotes: CirculationNote[];
  /** One note per line. */
  administrativeNotes: string;
  discoverySuppress: boolean;
}

export function draftOf(item: Item): ItemDraft {
  const record = <K extends string>(names: readonly K[], value: (name: K) => string) => Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, string>;
  return {
    texts: record(TEXTS, (name) => item[name] ?? ''),
    references: record(REFERENCES, (name) => item[name]?.id ?? ''),
    circulationNotes: item.circulationNotes ?? [],
    administrativeNotes: (item.administrativeNotes ?? []).join('\n'),
    discoverySuppress: item.discoverySuppress ?? false,
  };
}

/** Why the item cannot be saved. */
export function problemOf({ references, circulationNotes }: ItemDraft): MessageKey | undefined {
  if (references.materialType === '' || references.permanentLoanType === '') return 'items.needsTypes';
  if (circulationNotes.some(({ note }) => note.trim() === '')) return 'items.emptyNote';
  return undefined;
}

/** The item with the edited fields; its other fields, also those that the desk does not know, stay. */
export function withDraft(item: Item, draft: ItemDraft): Item {
  const changed: Record<string, unknown> = { ...item };
  const set = (name: string, value: unknown) => {
    if (value === undefined) delete changed[name];
    else changed[name] = value;
  };
  for (const name of TEXTS) set(name, draft.texts[name].trim() || undefined);
  for (const name of REFERENCES) set(name, draft.references[name] === '' ? undefined : { id: draft.references[name] });
  changed['circulationNotes'] = draft.circulationNotes.map((note) => ({ ...note, note: note.note.trim() }));
  changed['administrativeNotes'] = draft.administrativeNotes.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  changed['discoverySuppress'] = draft.discoverySuppress;
  return changed as unknown as Item;
}
