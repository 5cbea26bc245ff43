/* Notes on an account, for staff. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { post, put, remove } from '../../api/client.ts';
import type { Note } from '../../api/schema.ts';
import { Confirm } from '../../parts/Confirm.tsx';
import { ActionButton, Choice, Field, Tick } from '../../parts/controls.tsx';
import { Listing } from '../../parts/listing.tsx';
import { EditPrompt } from '../../parts/EditPrompt.tsx';
import { RowMenu } from '../../parts/RowMenu.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import * as api from '../circulation-api.ts';
import { useNoteTypes } from '../references.ts';
import { noteOfText, textOfNote } from './note-text.ts';

export function UserNotes({ userId }: { userId: string }) {
  const { may } = useSession();
  const queries = useQueryClient();
  const [editing, setEditing] = useState<Note>();
  const [deleting, setDeleting] = useState<Note>();
  const query = useQuery({ queryKey: ['notes-of', userId], queryFn: () => api.notesOf(userId) });
  const refused = (permission: string) => (may(permission) ? undefined : t('why.noPermission'));
  function finished() {
    setEditing(undefined);
    setDeleting(undefined);
    void queries.invalidateQueries({ queryKey: ['notes-of', userId] });
  }
  return (
    <>
      <div>
        <ActionButton
          why={refused('notes.item.post')}
          onPress={() => setEditing({ title: '', typeId: '', domain: 'users', content: '', links: [{ id: userId, type: 'user' }], popUpOnCheckOut: false, popUpOnUser: false })}
        >
          {t('notes.add')}
        </ActionButton>
      </div>
      <Listing
        label={t('users.tab.notes')}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('users.noNotes')}
        rowKey={(note) => note.id ?? ''}
        columns={[
          { title: t('column.title'), cell: (note) => note.title },
          { title: t('column.note'), cell: (note) => <span className="note-text">{textOfNote(note.content)}</span> },
          { title: t('notes.type'), cell: (note) => note.type },
          { title: t('column.popUp'), cell: (note) => [note.popUpOnCheckOut && t('notes.atCheckOut'), note.popUpOnUser && t('notes.atUser')].filter(Boolean).join(', ') },
          { title: t('column.changed'), cell: (note) => formatDateTime(note.metadata?.['updatedDate'] as string | undefined) },
          {
            title: t('column.actions'),
            className: 'actions',
            cell: (note) => (
              <RowMenu
                label={note.title}
                actions={[
                  { id: 'edit', label: t('edit'), why: refused('notes.item.put'), run: () => setEditing(note) },
                  { id: 'delete', label: t('delete'), why: refused('notes.item.delete'), run: () => setDeleting(note) },
                ]}
              />
            ),
          },
        ]}
      />
      {editing && <NoteDialog note={editing} close={() => setEditing(undefined)} saved={finished} />}
      {deleting && (
        <Confirm title={t('notes.delete')} text={deleting.title} submit={t('delete')} run={() => remove(`/notes/${deleting.id}`)} close={() => setDeleting(undefined)} done={finished} />
      )}
    </>
  );
}

function NoteDialog({ note, close, saved }: { note: Note; close: () => void; saved: () => void }) {
  const types = useNoteTypes();
  const [title, setTitle] = useState(note.title);
  const [typeId, setTypeId] = useState(note.typeId);
  const [text, setText] = useState(() => textOfNote(note.content));
  const [popUps, setPopUps] = useState({ popUpOnCheckOut: note.popUpOnCheckOut === true, popUpOnUser: note.popUpOnUser === true });
  const chosen = typeId || ([...types.keys()][0] ?? '');
  const missing = title.trim() === '' ? t('notes.needsTitle') : chosen === '' ? t('notes.needsType') : undefined;

  function save(): Promise<unknown> {
    // A text that was not touched keeps the formatting that it was stored with.
    const content = text === textOfNote(note.content) ? note.content : noteOfText(text);
    const body = { ...note, ...popUps, title: title.trim(), typeId: chosen, content };
    return note.id === undefined ? post('/notes', body) : put(`/notes/${note.id}`, body);
  }

  return (
    <EditPrompt title={t(note.id === undefined ? 'notes.add' : 'notes.edit')} why={missing} save={save} saved={saved} close={close}>
      <Field label={t('column.title')} value={title} onChange={setTitle} isRequired autoFocus />
      <Choice label={t('notes.type')} value={chosen} onChange={setTypeId} options={[...types].map(([value, label]) => ({ value, label }))} />
      <Field label={t('column.note')} value={text} onChange={setText} rows={4} />
      <Tick isSelected={popUps.popUpOnCheckOut} onChange={(popUpOnCheckOut) => setPopUps((all) => ({ ...all, popUpOnCheckOut }))}>
        {t('notes.popUpAtCheckOut')}
      </Tick>
      <Tick isSelected={popUps.popUpOnUser} onChange={(popUpOnUser) => setPopUps((all) => ({ ...all, popUpOnUser }))}>
        {t('notes.popUpAtUser')}
      </Tick>
    </EditPrompt>
  );
}
