/* Dialogs of actions on a loan; the list of actions is the table in loan-actions.ts. */
import { useRef, useState } from 'react';
import type { Loan } from '../api/bodies.ts';
import { Failure, linesOf } from '../api/failure.ts';
import { ActionButton, Field, Message } from '../parts/controls.tsx';
import { Prompt } from '../parts/Prompt.tsx';
import type { RowAction } from '../parts/RowMenu.tsx';
import { useSession } from '../session/session.tsx';
import { formatDateTime, fromWallTime, toWallTime } from '../text/dates.ts';
import { t } from '../text/messages.ts';
import * as api from './circulation-api.ts';
import { DueDateField } from './DueDateField.tsx';
import { RenewOverride } from './RenewOverride.tsx';
import { waysOut, type WayOut } from './check-out/ways-out.ts';
import { judge, LOAN_ACTIONS, type LoanAction } from './loan-actions.ts';

/** Receives the loan after an action, and the message about it. */
export type Done = (loan: Loan, message: string) => void;

interface Open {
  action: LoanAction;
  loan: Loan;
}

/** The actions of a loan for its menu, and the dialog of the one that was chosen. */
export function useLoanActions(done: Done, failed: (message: string) => void) {
  const { may, servicePoint } = useSession();
  const [open, setOpen] = useState<Open>();
  const [forcing, setForcing] = useState<{ loan: Loan; failure: Failure; override: Extract<WayOut, { way: 'override' }> }>();
  // Rows that do not re-render keep an earlier `renew`, which must not use an earlier service point.
  const point = useRef(servicePoint?.id);
  point.current = servicePoint?.id;

  function actionsOf(loan: Loan, only: readonly LoanAction[] = LOAN_ACTIONS): RowAction[] {
    return only.flatMap((action) => {
      const { shown, why } = judge(action, loan, may);
      if (!shown) return [];
      const run = () => (action === 'renew' ? void renew(loan) : setOpen({ action, loan }));
      return [{ id: action, label: t(`loan.${action}`), why: why && t(why), run }];
    });
  }

  async function renew(loan: Loan) {
    try {
      const renewed = await api.renew(loan, point.current ?? '');
      done(renewed, t('loan.renewed', { due: formatDateTime(renewed.dueDate) }));
    } catch (error) {
      const [override] = error instanceof Failure ? waysOut(error, may) : [];
      if (error instanceof Failure && override?.way === 'override') setForcing({ loan, failure: error, override });
      else failed(`${loan.item.title ?? ''}: ${linesOf(error).join(' ')}`);
    }
  }

  const dialog = forcing ? (
    <RenewOverride
      {...forcing}
      servicePointId={servicePoint?.id ?? ''}
      close={() => setForcing(undefined)}
      renewed={(renewed) => {
        setForcing(undefined);
        done(renewed, t('loan.renewed', { due: formatDateTime(renewed.dueDate) }));
      }}
    />
  ) : open && (
    <LoanDialog
      key={`${open.action} ${open.loan.id}`}
      open={open}
      servicePointId={servicePoint?.id ?? ''}
      close={() => setOpen(undefined)}
      done={(loan, message) => {
        setOpen(undefined);
        done(loan, message);
      }}
    />
  );
  return { actionsOf, renew, dialog, openAction: (action: LoanAction, loan: Loan) => setOpen({ action, loan }) };
}

interface DialogProps {
  open: Open;
  servicePointId: string;
  close: () => void;
  done: Done;
}

function LoanDialog({ open: { action, loan }, servicePointId, close, done }: DialogProps) {
  const [comment, setComment] = useState('');
  const [wall, setWall] = useState(() => (action === 'changeDueDate' ? toWallTime(new Date(loan.dueDate)) : toWallTime(new Date())));
  const [error, setError] = useState<string[]>();
  const [busy, setBusy] = useState(false);
  const needsComment = action !== 'changeDueDate' && action !== 'claimReturned' && action !== 'checkIn';
  const missing = needsComment && comment.trim() === '' ? t('override.needsComment') : undefined;

  async function send(): Promise<[Loan, string]> {
    switch (action) {
      case 'changeDueDate': {
        const dueDate = fromWallTime(`${wall}:59`).toISOString();
        await api.changeDueDate(loan.id, dueDate);
        return [{ ...loan, dueDate }, t('loan.dueDateChanged', { due: formatDateTime(dueDate) })];
      }
      case 'claimReturned':
        await api.claimReturned(loan.id, fromWallTime(wall).toISOString(), comment.trim());
        return [withStatus(loan, 'Claimed returned'), t('loan.claimedReturned')];
      case 'declareLost':
        await api.declareLost(loan.id, servicePointId, comment.trim());
        return [withStatus(loan, 'Declared lost'), t('loan.declaredLost')];
      case 'declareMissing':
        await api.declareMissing(loan.id, comment.trim());
        return [{ ...withStatus(loan, 'Missing'), status: { name: 'Closed' } }, t('loan.declaredMissing')];
      case 'addPatronInfo':
        await api.addInfo(loan.id, 'patronInfoAdded', comment.trim());
        return [loan, t('loan.infoAdded')];
      case 'addStaffInfo':
        await api.addInfo(loan.id, 'staffInfoAdded', comment.trim());
        return [loan, t('loan.infoAdded')];
      case 'checkIn':
        await api.checkIn({ itemBarcode: loan.item.barcode ?? '', servicePointId, checkInDate: new Date().toISOString() });
        return [{ ...loan, status: { name: 'Closed' } }, t('loan.checkedIn')];
      case 'renew':
        return [loan, ''];
    }
  }

  async function submit() {
    setBusy(true);
    try {
      const [changed, message] = await send();
      done(changed, message);
    } catch (failure) {
      setError(linesOf(failure));
      setBusy(false);
    }
  }

  return (
    <Prompt
      title={t(`loan.${action}`)}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" why={missing} isDisabled={busy} autoFocus={action === 'checkIn'} onPress={() => void submit()}>
            {t('save')}
          </ActionButton>
        </>
      }
    >
      {error && <Message kind="error">{error.join(' ')}</Message>}
      <p className="about-item">
        <strong>{loan.item.title}</strong>
        <span>{loan.item.barcode}</span>
      </p>
      {action === 'changeDueDate' && <DueDateField value={wall} onChange={setWall} servicePointId={servicePointId} autoFocus />}
      {action === 'claimReturned' && <Field type="datetime-local" label={t('loan.claimedDate')} value={wall} onChange={setWall} autoFocus isRequired />}
      {action !== 'changeDueDate' && action !== 'checkIn' && (
        <Field label={t('loan.comment')} rows={3} value={comment} onChange={setComment} isRequired={needsComment} autoFocus={needsComment} />
      )}
    </Prompt>
  );
}

function withStatus(loan: Loan, name: string): Loan {
  return { ...loan, item: { ...loan.item, status: { name } } };
}
