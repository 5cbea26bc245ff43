/* A renewal that was refused but may be forced, with a comment. */
import { useState } from 'react';
import type { Loan } from '../api/bodies.ts';
import { type Failure, linesOf } from '../api/failure.ts';
import { ActionButton, Field } from '../parts/controls.tsx';
import { FailureMessage } from '../parts/listing.tsx';
import { Prompt } from '../parts/Prompt.tsx';
import { fromWallTime, toWallTime } from '../text/dates.ts';
import { t } from '../text/messages.ts';
import { overrideBlocks, type WayOut } from './check-out/ways-out.ts';
import * as api from './circulation-api.ts';
import { DueDateField } from './loan-dialogs.tsx';

interface Props {
  loan: Loan;
  failure: Failure;
  override: Extract<WayOut, { way: 'override' }>;
  servicePointId: string;
  close: () => void;
  renewed: (loan: Loan) => void;
}

export function RenewOverride({ loan, failure, override, servicePointId, close, renewed }: Props) {
  const [comment, setComment] = useState('');
  const [wall, setWall] = useState(() => `${toWallTime(new Date(Date.now() + 7 * 86_400_000)).slice(0, 10)}T23:59`);
  const [error, setError] = useState<unknown>();
  const missing = comment.trim() === '' ? t('override.needsComment') : undefined;
  function renew() {
    const dueDate = override.needsDueDate ? fromWallTime(`${wall}:59`).toISOString() : undefined;
    api.renew(loan, servicePointId, overrideBlocks(override.blocks, comment.trim(), dueDate)).then(renewed, setError);
  }
  return (
    <Prompt
      kind="warning"
      title={t('renewOverride.title')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={missing} onPress={renew}>
            {t('renewOverride.submit')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <p className="about-item">
        <strong>{loan.item.title}</strong>
        <span>{loan.item.barcode}</span>
      </p>
      <ul className="reasons">
        {linesOf(failure).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {override.needsDueDate && <DueDateField value={wall} onChange={setWall} servicePointId={servicePointId} />}
      <Field label={t('override.comment')} value={comment} onChange={setComment} rows={2} isRequired autoFocus />
    </Prompt>
  );
}
