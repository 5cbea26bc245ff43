/* An override of what the server refuses, with a comment; a supervisor may sign in for it. */
import { type ReactNode, useState } from 'react';
import { tokenOf } from '../../api/client.ts';
import { ActionButton, Field, Tick } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { fromWallTime, toWallTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { DueDateField } from '../DueDateField.tsx';

export interface Override {
  comment: string;
  /** The due date, where the override needs one. */
  dueDate?: string;
  forFollowing: boolean;
  /** The supervisor's token, if the user lacks a permission. */
  token?: string;
}

interface Props {
  title: string;
  submit: string;
  children: ReactNode;
  /** Permissions for which a supervisor must sign in; the user stays logged in. */
  missingPermissions: readonly string[];
  needsDueDate?: boolean;
  /** Whether the override may go on for the items that follow. */
  mayGoOn?: boolean;
  servicePointId: string;
  close: () => void;
  /** Rejects where the server refuses the override. */
  run: (override: Override) => Promise<void> | void;
}

const DAY_MS = 86_400_000;
const PROPOSED_DAYS = 7;

export function OverridePrompt({ title, submit, children, missingPermissions, needsDueDate = false, mayGoOn = false, servicePointId, close, run }: Props) {
  const needsSupervisor = missingPermissions.length > 0;
  const [comment, setComment] = useState('');
  const [wall, setWall] = useState(() => `${toWallTime(new Date(Date.now() + PROPOSED_DAYS * DAY_MS)).slice(0, 10)}T23:59`);
  const [forFollowing, setForFollowing] = useState(false);
  const [supervisor, setSupervisor] = useState({ username: '', password: '' });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const missing = comment.trim() === '' ? t('override.needsComment') : needsSupervisor && supervisor.username.trim() === '' ? t('override.needsSupervisor') : undefined;

  async function go() {
    setBusy(true);
    try {
      const token = needsSupervisor ? await tokenOf(supervisor.username.trim(), supervisor.password) : undefined;
      await run({
        comment: comment.trim(),
        forFollowing,
        ...(needsDueDate ? { dueDate: fromWallTime(`${wall}:59`).toISOString() } : {}),
        ...(token ? { token } : {}),
      });
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  }

  return (
    <Prompt
      kind="warning"
      title={title}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={missing} isDisabled={busy} onPress={() => void go()}>
            {submit}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      {children}
      {needsDueDate && <DueDateField value={wall} onChange={setWall} servicePointId={servicePointId} />}
      <Field label={t('override.comment')} value={comment} onChange={setComment} rows={2} autoFocus isRequired />
      {mayGoOn && (
        <Tick isSelected={forFollowing} onChange={setForFollowing}>
          {t('override.forFollowing')}
        </Tick>
      )}
      {needsSupervisor && (
        <fieldset>
          <legend>{t('override.supervisor')}</legend>
          <p className="hint">{t('override.supervisorText', { permissions: missingPermissions.join(', ') })}</p>
          <Field label={t('login.username')} value={supervisor.username} onChange={(username) => setSupervisor((all) => ({ ...all, username }))} />
          <Field label={t('login.password')} type="password" value={supervisor.password} onChange={(password) => setSupervisor((all) => ({ ...all, password }))} />
        </fieldset>
      )}
    </Prompt>
  );
}
