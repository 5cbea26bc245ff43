import { useState } from 'react';
import { remove } from '../../api/client.ts';
import { ActionButton } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { nameOfUser } from '../people.ts';
import type { DialogProps } from '../PromptHost.tsx';

export function ActingAs({ shown: { user, sponsors }, answer }: DialogProps<'actingAs'>) {
  return (
    <Prompt title={t('actingAs.title', { name: nameOfUser(user) })} onCancel={() => answer(undefined)} actions={<ActionButton onPress={() => answer(undefined)}>{t('cancel')}</ActionButton>}>
      <p>{t('actingAs.text')}</p>
      <ul className="choices">
        <li>
          <ActionButton autoFocus variant="primary" onPress={() => answer({ sponsor: undefined })}>
            {t('actingAs.self')}
          </ActionButton>
        </li>
        {sponsors.map(({ user: sponsor, expired }) => (
          <li key={sponsor.id}>
            <ActionButton why={expired ? t('actingAs.expired') : undefined} onPress={() => answer({ sponsor })}>
              {t('actingAs.sponsor', { name: nameOfUser(sponsor) })}
            </ActionButton>
          </li>
        ))}
      </ul>
    </Prompt>
  );
}

export function PatronNotes({ shown: { notes }, answer }: DialogProps<'patronNotes'>) {
  const [deleted, setDeleted] = useState<string[]>([]);
  const left = notes.filter((note) => !deleted.includes(note.id ?? ''));
  return (
    <Prompt
      title={tn('patronNotes.title', notes.length)}
      onCancel={() => answer({ deleted })}
      actions={
        <ActionButton variant="primary" autoFocus onPress={() => answer({ deleted })}>
          {t('close')}
        </ActionButton>
      }
    >
      <ul className="notes">
        {left.map((note) => (
          <li key={note.id}>
            <strong>{note.title}</strong>
            <span>{plainText(note.content)}</span>
            <span className="hint">{formatDateTime(note.metadata?.['updatedDate'] as string | undefined)}</span>
            <ActionButton
              variant="danger"
              onPress={() => {
                const id = note.id ?? '';
                void remove(`/notes/${id}`).then(() => setDeleted((all) => [...all, id]), () => {});
              }}
            >
              {t('delete')}
            </ActionButton>
          </li>
        ))}
      </ul>
    </Prompt>
  );
}

/** A note's text without its markup. */
function plainText(markup: string | undefined): string {
  return new DOMParser().parseFromString(markup ?? '', 'text/html').body.textContent ?? '';
}

export function SwitchPatron({ shown: { user }, answer }: DialogProps<'switchPatron'>) {
  return (
    <Prompt
      title={t('switchPatron.title')}
      onCancel={() => answer(undefined)}
      actions={
        <>
          <ActionButton autoFocus onPress={() => answer(undefined)}>
            {t('switchPatron.stay')}
          </ActionButton>
          <ActionButton variant="primary" onPress={() => answer(true)}>
            {t('switchPatron.switch', { name: nameOfUser(user) })}
          </ActionButton>
        </>
      }
    >
      <p>{t('switchPatron.text', { name: nameOfUser(user) })}</p>
    </Prompt>
  );
}
