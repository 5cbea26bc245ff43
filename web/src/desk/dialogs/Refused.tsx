import { useState } from 'react';
import { ActionButton } from '../../parts/controls.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDateTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { nameOfBorrower } from '../people.ts';
import type { DialogProps } from '../PromptHost.tsx';
import { RequestId } from '../scanning/RowSign.tsx';
import { OverridePrompt } from './OverridePrompt.tsx';

/** A refused check-out: what, why, and what can be done about it. */
export function Refused({ shown, answer }: DialogProps<'refused'>) {
  const { barcode, title, failure, ways, openLoan } = shown;
  const override = ways.find((way) => way.way === 'override');
  const [overriding, setOverriding] = useState(false);
  if (overriding && override) return <OverrideRefusal shown={shown} answer={answer} />;
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

function OverrideRefusal({ shown, answer }: DialogProps<'refused'>) {
  const { servicePoint } = useSession();
  const override = shown.ways.find((way) => way.way === 'override');
  return (
    <OverridePrompt
      title={t('override.title')}
      submit={t('override.submit')}
      missingPermissions={override?.missingPermissions ?? []}
      needsDueDate={override?.needsDueDate ?? false}
      mayGoOn
      servicePointId={servicePoint?.id ?? ''}
      close={() => answer(undefined)}
      run={(given) => answer({ way: 'override', ...given })}
    >
      <p className="about-item">
        <strong>{shown.title ?? shown.barcode}</strong>
      </p>
    </OverridePrompt>
  );
}
