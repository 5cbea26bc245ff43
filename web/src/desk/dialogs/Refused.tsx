import { useState } from 'react';
import { tokenOf } from '../../api/client.ts';
import { linesOf } from '../../api/failure.ts';
import { ActionButton, Field, Message, Tick } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { formatDateTime, fromWallTime, today } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { nameOfBorrower } from '../people.ts';
import type { DialogProps } from '../PromptHost.tsx';
import { RequestId } from '../scanning/RowSign.tsx';
import { Supervisor } from './Supervisor.tsx';

/** A refused check-out: what, why, and what can be done about it. */
export function Refused({ shown, answer }: DialogProps<'refused'>) {
  const { barcode, title, failure, ways, openLoan } = shown;
  const override = ways.find((way) => way.way === 'override');
  const [overriding, setOverriding] = useState(false);
  if (overriding && override) return <Override shown={shown} answer={answer} />;
  return (
    <Prompt
      kind="error"
      title={t('refused.title')}
      onCancel={() => answer(undefined)}
      actions={
        <>
          <ActionButton autoFocus onPress={() => answer(undefined)}>
            {t('close')}
          </ActionButton>
          {override && (
            <ActionButton variant="primary" onPress={() => setOverriding(true)}>
              {t('refused.override')}
            </ActionButton>
          )}
          {ways.some((way) => way.way === 'checkInFirst') && (
            <ActionButton variant="primary" onPress={() => answer({ way: 'checkInFirst' })}>
              {t('refused.checkInFirst')}
            </ActionButton>
          )}
          {ways.some((way) => way.way === 'fastAdd') && (
            <ActionButton variant="primary" onPress={() => answer({ way: 'fastAdd' })}>
              {t('refused.fastAdd')}
            </ActionButton>
          )}
        </>
      }
    >
      <p className="about-item">
        <strong>{title ?? barcode}</strong>
        {title && <span>{barcode}</span>}
      </p>
      <ul className="reasons">
        {failure.refusals.map((refusal, index) => (
          <li key={index}>
            {refusal.message}
            {refusal.parameters.filter((one) => one.key === 'reason' && one.value).map((one) => ` (${one.value})`)}
          </li>
        ))}
      </ul>
      {openLoan && (
        <p>{t('refused.openLoan', { name: nameOfBorrower(openLoan.borrower), since: formatDateTime(openLoan.loanDate), due: formatDateTime(openLoan.dueDate) })}</p>
      )}
      <RequestId id={failure.requestId} />
    </Prompt>
  );
}

function Override({ shown, answer }: DialogProps<'refused'>) {
  const override = shown.ways.find((way) => way.way === 'override');
  const lacking = (override?.missingPermissions.length ?? 0) > 0;
  const [comment, setComment] = useState('');
  const [dueDate, setDueDate] = useState(`${today(new Date(Date.now() + 86_400_000))}T23:59`);
  const [forFollowing, setForFollowing] = useState(false);
  const [supervisor, setSupervisor] = useState({ username: '', password: '' });
  const [error, setError] = useState<string>();
  const missing = comment.trim() === '' ? t('override.needsComment') : lacking && supervisor.username === '' ? t('override.needsSupervisor') : undefined;

  async function go() {
    try {
      const token = lacking ? await tokenOf(supervisor.username, supervisor.password) : undefined;
      answer({
        way: 'override',
        comment: comment.trim(),
        forFollowing,
        ...(override?.needsDueDate ? { dueDate: fromWallTime(`${dueDate}:59`).toISOString() } : {}),
        ...(token ? { token } : {}),
      });
    } catch (failure) {
      setError(linesOf(failure).join(' '));
    }
  }

  return (
    <Prompt
      kind="warning"
      title={t('override.title')}
      onCancel={() => answer(undefined)}
      actions={
        <>
          <ActionButton onPress={() => answer(undefined)}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={missing} onPress={() => void go()}>
            {t('override.submit')}
          </ActionButton>
        </>
      }
    >
      {error && <Message kind="error">{error}</Message>}
      <p className="about-item">
        <strong>{shown.title ?? shown.barcode}</strong>
      </p>
      {override?.needsDueDate && <Field type="datetime-local" label={t('dueDate.label')} value={dueDate} onChange={setDueDate} isRequired />}
      <Field label={t('override.comment')} value={comment} onChange={setComment} rows={2} autoFocus isRequired />
      <Tick isSelected={forFollowing} onChange={setForFollowing}>
        {t('override.forFollowing')}
      </Tick>
      {lacking && <Supervisor login={supervisor} onChange={setSupervisor} permissions={override?.missingPermissions ?? []} />}
    </Prompt>
  );
}
