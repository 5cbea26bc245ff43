/* Changing the fields of an item. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { CirculationNote, Item } from '../../api/bodies.ts';
import { put } from '../../api/client.ts';
import { Failure } from '../../api/failure.ts';
import { ActionButton, Choice, Field, Tick } from '../../parts/controls.tsx';
import { EditPrompt } from '../../parts/EditPrompt.tsx';
import { type MessageKey, t } from '../../text/messages.ts';
import { useLoanTypes, useLocations, useMaterialTypes } from '../references.ts';
import { draftOf, type ItemDraft, problemOf, type ReferenceField, type TextField, withDraft } from './item-draft.ts';

const TEXTS: readonly [TextField, MessageKey][] = [
  ['copyNumber', 'items.copyNumber'],
  ['volume', 'items.volume'],
  ['enumeration', 'items.enumeration'],
  ['chronology', 'items.chronology'],
  ['numberOfPieces', 'pieces.number'],
  ['descriptionOfPieces', 'pieces.description'],
  ['numberOfMissingPieces', 'pieces.missingNumber'],
  ['missingPieces', 'pieces.missing'],
];

export function EditItem({ item, close }: { item: Item; close: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => draftOf(item));
  const names = { materials: useMaterialTypes(), loanTypes: useLoanTypes(), locations: useLocations() };
  const problem = problemOf(draft);
  const change = (part: Partial<ItemDraft>) => setDraft((all) => ({ ...all, ...part }));

  async function save() {
    try {
      await put(`/inventory/items/${item.id}`, withDraft(item, draft));
    } catch (failure) {
      // The server refuses an outdated version, so that no change of another person is overwritten.
      if (failure instanceof Failure && failure.status === 409) throw new Error(t('items.changedMeanwhile'));
      throw failure;
    }
  }

  function reference(name: ReferenceField, label: MessageKey, options: ReadonlyMap<string, string>, none?: MessageKey) {
    const known = [...options].map(([value, text]) => ({ value, label: text })).sort((one, other) => one.label.localeCompare(other.label));
    return (
      <Choice
        label={t(label)}
        value={draft.references[name]}
        onChange={(id) => change({ references: { ...draft.references, [name]: id } })}
        options={none ? [{ value: '', label: t(none) }, ...known] : known}
      />
    );
  }

  return (
    <EditPrompt
      title={t('items.edit')}
      why={problem && t(problem)}
      save={save}
      saved={() => {
        close();
        void queries.invalidateQueries({ queryKey: ['item', item.id] });
        void queries.invalidateQueries({ queryKey: ['items'] });
      }}
      close={close}
    >
      <p className="about-item">
        <strong>{item.title}</strong>
      </p>
      <div className="form-grid">
        <Field label={t('column.barcode')} value={draft.texts.barcode} onChange={(barcode) => change({ texts: { ...draft.texts, barcode } })} autoFocus takesScans />
        {reference('materialType', 'items.materialType', names.materials)}
        {reference('permanentLoanType', 'items.permanentLoanType', names.loanTypes)}
        {reference('temporaryLoanType', 'items.temporaryLoanType', names.loanTypes, 'items.none')}
        {reference('permanentLocation', 'items.permanentLocation', names.locations, 'items.ofHoldings')}
        {reference('temporaryLocation', 'items.temporaryLocation', names.locations, 'items.none')}
        {TEXTS.map(([name, label]) => (
          <Field key={name} label={t(label)} value={draft.texts[name]} onChange={(text) => change({ texts: { ...draft.texts, [name]: text } })} />
        ))}
      </div>
      <CirculationNotes notes={draft.circulationNotes} change={(circulationNotes) => change({ circulationNotes })} />
      <Field label={t('items.administrativeNotes')} rows={2} value={draft.administrativeNotes} onChange={(administrativeNotes) => change({ administrativeNotes })} hint={t('userForm.onePerLine')} />
      <Tick isSelected={draft.discoverySuppress} onChange={(discoverySuppress) => change({ discoverySuppress })}>
        {t('items.suppressed')}
      </Tick>
    </EditPrompt>
  );
}

/** Notes that staff see when the item is checked out or in. */
function CirculationNotes({ notes, change }: { notes: CirculationNote[]; change: (notes: CirculationNote[]) => void }) {
  const replace = (index: number, part: Partial<CirculationNote>) => change(notes.map((note, at) => (at === index ? { ...note, ...part } : note)));
  return (
    <fieldset className="record-list">
      <legend>{t('items.circulationNotes')}</legend>
      {notes.map((note, index) => (
        <div className="record-entry" key={note.id ?? index}>
          <Choice
            label={t('items.noteAt')}
            value={note.noteType}
            onChange={(type) => replace(index, { noteType: type === 'Check in' ? 'Check in' : 'Check out' })}
            options={[
              { value: 'Check out', label: t('page.check-out') },
              { value: 'Check in', label: t('page.check-in') },
            ]}
          />
          <Field label={t('column.note')} value={note.note} onChange={(text) => replace(index, { note: text })} isRequired />
          <div>
            <ActionButton variant="quiet" aria-label={t('items.removeNote', { number: index + 1 })} onPress={() => change(notes.filter((_, at) => at !== index))}>
              {t('items.remove')}
            </ActionButton>
          </div>
        </div>
      ))}
      <div>
        <ActionButton onPress={() => change([...notes, { id: crypto.randomUUID(), noteType: 'Check out', note: '', staffOnly: true, date: new Date().toISOString() }])}>{t('items.addNote')}</ActionButton>
      </div>
    </fieldset>
  );
}
