/* What a patron owes, paid at the check-out desk. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ActionButton, Loading, Tick } from '../../parts/controls.tsx';
import { FailureMessage } from '../../parts/listing.tsx';
import { Prompt } from '../../parts/Prompt.tsx';
import { useSession } from '../../session/session.tsx';
import { formatMoney } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { type Fee, limitOf, whyNot } from './fee-actions.ts';
import { feesOf } from './fee-api.ts';
import { SettleFees } from './SettleFees.tsx';

interface Props {
  userId: string;
  close: () => void;
  paid: (message: string) => void;
}

export function PayInPlace({ userId, close, paid }: Props) {
  const query = useQuery({ queryKey: ['fees', userId], queryFn: () => feesOf(userId), staleTime: 0 });
  const [chosen, setChosen] = useState<readonly Fee[]>();
  const fees = query.data && payable(query.data);
  const paying = chosen ?? (fees?.length === 1 ? fees : undefined);
  if (paying) return <SettleFees action="pay" fees={paying} close={close} done={paid} />;
  if (fees && !query.isFetching) return <ChooseFees fees={fees} close={close} choose={setChosen} />;
  return (
    <Prompt title={t('fees.action.pay')} onCancel={close} actions={<ActionButton onPress={close}>{t('cancel')}</ActionButton>}>
      {query.error ? <FailureMessage error={query.error} /> : <Loading />}
    </Prompt>
  );
}

/** Fees that can be paid; those that are suspended while a claim is open are not. */
export function payable(fees: readonly Fee[]): Fee[] {
  return fees.filter((fee) => limitOf('pay', [fee]) > 0 && fee.account.paymentStatus.name !== 'Suspended claim returned');
}

/** All fees are chosen at first. */
function ChooseFees({ fees, close, choose }: { fees: readonly Fee[]; close: () => void; choose: (fees: Fee[]) => void }) {
  const { may } = useSession();
  const [left, setLeft] = useState<ReadonlySet<Fee>>(new Set());
  const chosen = fees.filter((fee) => !left.has(fee));
  const why = whyNot('pay', chosen, may);
  return (
    <Prompt
      title={t('fees.action.pay')}
      onCancel={close}
      actions={
        <>
          <ActionButton onPress={close}>{t('cancel')}</ActionButton>
          <ActionButton variant="primary" autoFocus why={why && t(why)} onPress={() => choose(chosen)}>
            {t('fees.submit.pay')}
          </ActionButton>
        </>
      }
    >
      <p>{t('patron.choosePaid')}</p>
      <ul className="notes">
        {fees.map((fee) => (
          <li key={fee.account.id}>
            <Tick
              isSelected={!left.has(fee)}
              onChange={(on) => {
                const next = new Set(left);
                if (on) next.delete(fee);
                else next.add(fee);
                setLeft(next);
              }}
            >
              {t('patron.payable', { type: fee.account.feeFineType ?? '', amount: formatMoney(Number(fee.account.remaining)) })}
            </Tick>
            {fee.account.title && <span className="hint">{fee.account.title}</span>}
          </li>
        ))}
      </ul>
      <p>
        <strong>{t('fees.owed', { amount: formatMoney(limitOf('pay', chosen) / 100) })}</strong>
      </p>
    </Prompt>
  );
}
