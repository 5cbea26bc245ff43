/* Charges a fee/fine by hand, for an item or without one. */
import { useState } from 'react';
import type { Item, Loan } from '../../api/bodies.ts';
import type { Account } from '../../api/schema.ts';
import { ActionButton, Choice, Field, Message, Tick } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSession } from '../../session/session.tsx';
import { t } from '../../text/messages.ts';
import { findItems } from '../circulation-api.ts';
import { callNumber } from '../items.ts';
import { nameOfUser } from '../people.ts';
import { joinComments } from './fee-actions.ts';
import { charge, ownerAt, useFeeFineTypes, useOwners } from './fee-api.ts';
import { amountText, centsOf, parseCents } from './money.ts';

interface Props {
  userId: string;
  /** The loan that is charged; it identifies the item. */
  loan?: Loan | undefined;
  close: () => void;
  charged: (account: Account, payNow: boolean) => void;
}

/** Fee/fine types of the owner with this name are available to all owners. */
const SHARED = 'Shared';

export function NewFee({ userId, loan, close, charged }: Props) {
  const { self, servicePoint, may } = useSession();
  const owners = useOwners();
  const types = useFeeFineTypes();
  const [chosenOwner, setOwner] = useState('');
  const [chosenType, setType] = useState('');
  const [typed, setTyped] = useState<string>();
  const [barcode, setBarcode] = useState(loan?.item.barcode ?? '');
  const [staff, setStaff] = useState('');
  const [patron, setPatron] = useState('');
  const [notifyWish, setNotify] = useState<boolean>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  // If the second call failed, repeating the charge must not create a second account.
  const [ids] = useState(() => ({ account: crypto.randomUUID(), action: crypto.randomUUID() }));

  const owner = owners?.find((one) => one.id === chosenOwner) ?? ownerAt(owners, servicePoint?.id);
  const shared = owners?.find((one) => one.owner === SHARED)?.id;
  const choices = (types ?? []).filter((type) => !type.automatic && (type.ownerId === owner?.id || (shared !== undefined && type.ownerId === shared)));
  const type = choices.find((one) => one.id === chosenType) ?? choices[0];
  const amount = typed ?? (type?.defaultAmount === undefined ? '' : amountText(centsOf(type.defaultAmount)));
  const cents = parseCents(amount);
  const hasNotice = (type?.chargeNoticeId ?? owner?.defaultChargeNoticeId) !== undefined;
  const notify = notifyWish ?? hasNotice;
  const missing = !type ? t('fees.noTypes') : !cents ? t('fees.needsAmount') : undefined;

  async function submit(payNow: boolean) {
    if (!owner || !type || !cents) return;
    setBusy(true);
    setError(undefined);
    try {
      const text = barcode.trim();
      const item = text === '' ? undefined : (await findItems(text, false)).items[0];
      if (text !== '' && !item) throw new Error(t('requests.itemUnknown', { barcode: text }));
      const money = cents / 100;
      const account: Account = {
        id: ids.account,
        userId,
        amount: money,
        remaining: money,
        status: { name: 'Open' },
        paymentStatus: { name: 'Outstanding' },
        feeFineId: type.id,
        feeFineType: type.feeFineType,
        ownerId: owner.id,
        feeFineOwner: owner.owner,
        ...(item ? aboutItem(item) : {}),
        ...(loan && item?.id === loan.itemId ? { loanId: loan.id, dueDate: loan.dueDate } : {}),
      };
      const comments = joinComments(staff, patron);
      await charge(account, {
        id: ids.action,
        accountId: ids.account,
        userId,
        typeAction: type.feeFineType,
        dateAction: new Date().toISOString(),
        amountAction: money,
        balance: money,
        notify,
        transactionInformation: '-',
        source: nameOfUser(self.user),
        ...(servicePoint?.id ? { createdAt: servicePoint.id } : {}),
        ...(comments === undefined ? {} : { comments }),
      });
      charged(account, payNow);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  }

  return (
    <Prompt
      title={t('fees.new')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          {may('feesfines.accounts.pay.post') && (
            <ActionButton why={missing} isDisabled={busy} onPress={() => void submit(true)}>
              {t('fees.chargeAndPay')}
            </ActionButton>
          )}
          <ActionButton variant="primary" why={missing} isDisabled={busy} onPress={() => void submit(false)}>
            {t('fees.charge')}
          </ActionButton>
        </>
      }
    >
      {error !== undefined && <FailureMessage error={error} />}
      {owners?.length === 0 && <Message kind="warning">{t('fees.noOwners')}</Message>}
      <Choice label={t('fees.owner')} value={owner?.id ?? ''} onChange={setOwner} options={(owners ?? []).map((one) => ({ value: one.id, label: one.owner }))} />
      <Choice
        label={t('column.feeType')}
        value={type?.id ?? ''}
        onChange={(id) => {
          setType(id);
          setTyped(undefined);
        }}
        options={choices.map((one) => ({ value: one.id, label: one.feeFineType }))}
      />
      <Field label={t('fees.amount')} value={amount} onChange={setTyped} isRequired autoFocus />
      <Field label={t('fees.itemBarcode')} value={barcode} onChange={setBarcode} isDisabled={loan !== undefined} hint={loan?.item.title} />
      <Field label={t('fees.staffComment')} value={staff} onChange={setStaff} rows={2} />
      <Field label={t('fees.patronComment')} value={patron} onChange={setPatron} rows={2} />
      <Tick isSelected={notify} onChange={setNotify}>
        {t('fees.notify')}
      </Tick>
      {!hasNotice && <p className="hint">{t('fees.noNotice')}</p>}
    </Prompt>
  );
}

/** The fields of an item that an account stores. */
function aboutItem(item: Item): Partial<Account> {
  const call = callNumber(item.effectiveCallNumberComponents);
  return {
    itemId: item.id,
    itemStatus: { name: item.status.name },
    holdingsRecordId: item.holdingsRecordId,
    ...(item.title ? { title: item.title } : {}),
    ...(item.barcode ? { barcode: item.barcode } : {}),
    ...(call ? { callNumber: call } : {}),
    ...(item.effectiveLocation?.name ? { location: item.effectiveLocation.name } : {}),
    ...(item.materialType?.id ? { materialTypeId: item.materialType.id } : {}),
    ...(item.materialType?.name ? { materialType: item.materialType.name } : {}),
    ...(item.contributorNames ? { contributors: item.contributorNames.map(({ name }) => ({ name })) } : {}),
  };
}
