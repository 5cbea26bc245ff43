/* Paying, waiving, transferring, refunding or cancelling fees/fines: one dialog, as they differ in few fields. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { linesOf } from '../../api/failure.ts';
import { ActionButton, Choice, Field, Message, Tick } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSettled } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { formatMoney } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { nameOfUser } from '../people.ts';
import { check, ownerAt, settle, useCommentRequired, useFeeFineTypes, useMeans, useOwners } from './fee-api.ts';
import { type Fee, type FeeAction, joinComments, limitOf } from './fee-actions.ts';
import { amountText, centsOf, parseCents } from './money.ts';

interface Props {
  action: FeeAction;
  fees: readonly Fee[];
  close: () => void;
  done: (message: string) => void;
}

export function SettleFees({ action, fees, close, done }: Props) {
  const { self, servicePoint } = useSession();
  const owners = useOwners();
  const types = useFeeFineTypes();
  const limit = limitOf(action, fees);
  const ids = fees.flatMap(({ account }) => account.id ?? []);
  const [chosenOwner, setOwner] = useState('');
  const [amount, setAmount] = useState(() => amountText(limit));
  const [means, setMeans] = useState('');
  const [information, setInformation] = useState('');
  const [staff, setStaff] = useState('');
  const [patron, setPatron] = useState('');
  const [notifyWish, setNotify] = useState<boolean>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);

  const own = owners?.find((owner) => owner.id === fees[0]?.account.ownerId);
  const owner = chosenOwner || (own ?? ownerAt(owners, servicePoint?.id))?.id || '';
  const names = useMeans(action === 'cancel' ? 'waive' : action, owner) ?? [];
  const chosen = names.includes(means) ? means : (names[0] ?? '');
  const needsComment = useCommentRequired(action);
  const hasNotice = fees.some(
    ({ account }) => types?.find((type) => type.id === account.feeFineId)?.actionNoticeId ?? owners?.find((one) => one.id === account.ownerId)?.defaultActionNoticeId,
  );
  const notify = notifyWish ?? hasNotice;

  const cents = parseCents(amount);
  const settled = useSettled(amount);
  const settledCents = parseCents(settled);
  const checked = useQuery({
    queryKey: ['check-fees', action, ids, settled],
    enabled: action !== 'cancel' && settledCents !== undefined,
    queryFn: () => (action === 'cancel' ? '' : check(action, ids, amountText(settledCents ?? 0))),
    gcTime: 0,
  });
  const missing =
    action !== 'cancel' && cents === undefined
      ? t('fees.needsAmount')
      : checked.error && settled === amount
        ? linesOf(checked.error).join(' ')
        : needsComment && staff.trim() === ''
          ? t('override.needsComment')
          : undefined;

  async function submit() {
    setBusy(true);
    const comments = joinComments(staff, patron);
    try {
      await settle(action, ids, {
        ...(action === 'cancel' ? {} : { amount: amountText(cents ?? 0), ...(chosen === '' ? {} : { paymentMethod: chosen }) }),
        ...(information.trim() === '' ? {} : { transactionInfo: information.trim() }),
        ...(comments === undefined ? {} : { comments }),
        servicePointId: servicePoint?.id ?? '',
        userName: nameOfUser(self.user),
        notifyPatron: notify,
      });
      done(t(`fees.done.${action}`, { amount: formatMoney((action === 'cancel' ? limit : (cents ?? 0)) / 100) }));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  }

  return (
    <Prompt
      title={t(`fees.action.${action}`)}
      kind={action === 'cancel' ? 'warning' : undefined}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('fees.keep')}</ActionButton>
          <ActionButton variant={action === 'cancel' ? 'danger' : 'primary'} why={missing} isDisabled={busy} onPress={() => void submit()}>
            {t(`fees.submit.${action}`)}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      <p className="about-item">
        <strong>{fees.length === 1 ? fees[0]?.account.feeFineType : tn('fees.count', fees.length)}</strong>
        <span>{fees.length === 1 ? fees[0]?.account.title : ''}</span>
        <span>{t(action === 'refund' ? 'fees.refundable' : 'fees.owed', { amount: formatMoney(limit / 100) })}</span>
      </p>
      {action === 'cancel' && <p>{t('fees.cancelText')}</p>}
      {action !== 'cancel' && (
        <>
          <Field
            label={t('fees.amount')}
            value={amount}
            onChange={setAmount}
            isRequired
            autoFocus
            hint={
              <span role="status">
                {checked.data !== undefined && t(action === 'refund' ? 'fees.remainsRefundable' : 'fees.remains', { amount: formatMoney(centsOf(checked.data) / 100) })}
                {checked.error && <span className="hint-warning">{linesOf(checked.error).join(' ')}</span>}
              </span>
            }
          />
          {(action === 'pay' || action === 'transfer') && (owners?.length ?? 0) > 1 && (
            <Choice label={t('fees.owner')} value={owner} onChange={setOwner} options={(owners ?? []).map((one) => ({ value: one.id, label: one.owner }))} />
          )}
          {names.length > 0 ? (
            <Choice label={t(`fees.means.${action}`)} value={chosen} onChange={setMeans} options={names.map((value) => ({ value, label: value }))} />
          ) : (
            <Message kind="information" quiet>
              {t('fees.noMeans')}
            </Message>
          )}
          {action === 'pay' && <Field label={t('fees.transaction')} value={information} onChange={setInformation} />}
        </>
      )}
      <Field label={t('fees.staffComment')} value={staff} onChange={setStaff} rows={2} isRequired={needsComment} autoFocus={action === 'cancel'} />
      {action !== 'cancel' && (
        <>
          <Field label={t('fees.patronComment')} value={patron} onChange={setPatron} rows={2} />
          <Tick isSelected={notify} onChange={setNotify}>
            {t('fees.notify')}
          </Tick>
          {!hasNotice && <p className="hint">{t('fees.noNotice')}</p>}
        </>
      )}
    </Prompt>
  );
}
