import { type ReactNode, useState } from 'react';
import { t } from '../text/messages.ts';
import { ActionButton } from './controls.tsx';
import { FailureMessage } from './listing.tsx';
import { Prompt } from './Prompt.tsx';

interface Props {
  title: string;
  text: ReactNode;
  /** Label of the confirming button. */
  submit: string;
  run: () => Promise<unknown>;
  close: () => void;
  done: () => void;
}

/** Asks for confirmation of a deletion or a cancellation; the safe answer has the focus. */
export function Confirm({ title, text, submit, run, close, done }: Props) {
  const [error, setError] = useState<unknown>();
  return (
    <Prompt
      kind="warning"
      title={title}
      onCancel={close}
      actions={
        <>
          <ActionButton autoFocus onPress={close}>
            {t('cancel')}
          </ActionButton>
          <ActionButton variant="danger" onPress={() => void run().then(done, setError)}>
            {submit}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <p>{text}</p>
    </Prompt>
  );
}
