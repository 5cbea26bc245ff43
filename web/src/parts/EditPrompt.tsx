import { type ReactNode, useState } from 'react';
import { t } from '../text/messages.ts';
import { ActionButton } from './controls.tsx';
import { FailureMessage } from './listing.tsx';
import { Prompt } from './Prompt.tsx';

interface Props {
  title: string;
  /** Why it can not be saved yet. */
  why: string | undefined;
  save: () => Promise<unknown>;
  saved: () => void;
  close: () => void;
  children: ReactNode;
}

/** A dialog whose fields are saved together; it stays open with the reason where the server refuses. */
export function EditPrompt({ title, why, save, saved, close, children }: Props) {
  const [error, setError] = useState<unknown>();
  return (
    <Prompt
      title={title}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={why} onPress={() => void save().then(saved, setError)}>
            {t('save')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      {children}
    </Prompt>
  );
}
