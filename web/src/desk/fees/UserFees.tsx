/* Fees/fines of a user: selected ones are settled together, and each opens with its history. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Loan } from '../../api/bodies.ts';
import { to } from '../../layout/route.ts';
import { ActionButton, Choice, Message, Tick } from '../../parts/controls.tsx';
import { FailureMessage, Listing } from '../../parts/listing.tsx';
import { RowMenu } from '../../parts/RowMenu.tsx';
import { useSearchValue } from '../../parts/useSearch.ts';
import { useSession } from '../../session/session.tsx';
import { formatDate, formatMoney } from '../../text/dates.ts';
import { t, tn } from '../../text/messages.ts';
import { FeeView } from './FeeView.tsx';
import { type Fee, FEE_ACTIONS, type FeeAction, limitOf, whyNot } from './fee-actions.ts';
import { feesOf } from './fee-api.ts';
import { centsOf } from './money.ts';
import { NewFee } from './NewFee.tsx';
import { SettleFees } from './SettleFees.tsx';

const STATUSES = ['open', 'closed', 'all'] as const;

export function UserFees({ userId, feeId }: { userId: string; feeId?: string | undefined }) {
  const query = useQuery({ queryKey: ['fees', userId], queryFn: () => feesOf(userId) });
  const actions = useFeeActions(userId);
  if (query.error) return <FailureMessage error={query.error} />;
  const fees = query.data ?? [];
  const shown = feeId === undefined ? undefined : fees.find((fee) => fee.account.id === feeId);
  return (
    <>
      {actions.result && <Message kind="success">{actions.result}</Message>}
      {shown ? (
        <FeeView userId={userId} fee={shown} open={actions.open} />
      ) : (
        <FeeList userId={userId} fees={fees} isLoading={query.isLoading} open={actions.open} charge={() => actions.charge()} />
      )}
      {actions.dialog}
    </>
  );
}

/** The dialogs of fees/fines; after each, the user's accounts are loaded again. */
export function useFeeActions(userId: string) {
  const queries = useQueryClient();
  const [settling, setSettling] = useState<{ action: FeeAction; fees: Fee[] }>();
  const [charging, setCharging] = useState<{ loan?: Loan | undefined }>();
  const [result, setResult] = useState<string>();
  function finished(message: string) {
    setSettling(undefined);
    setResult(message);
    void queries.invalidateQueries({ queryKey: ['fees', userId] });
    void queries.invalidateQueries({ queryKey: ['loans', userId] });
  }
  const dialog = settling ? (
    <SettleFees {...settling} close={() => setSettling(undefined)} done={finished} />
  ) : (
    charging && (
      <NewFee
        userId={userId}
        loan={charging.loan}
        close={() => setCharging(undefined)}
        charged={(account, payNow) => {
          setCharging(undefined);
          finished(t('fees.charged', { type: account.feeFineType ?? '', amount: formatMoney(account.amount) }));
          if (payNow) setSettling({ action: 'pay', fees: [{ account, actions: [] }] });
        }}
      />
    )
  );
  return {
    dialog,
    result,
    open: (action: FeeAction, fees: Fee[]) => setSettling({ action, fees }),
    charge: (loan?: Loan) => setCharging({ loan }),
  };
}

interface ListProps {
  userId: string;
  fees: Fee[];
  isLoading: boolean;
  open: (action: FeeAction, fees: Fee[]) => void;
  charge: () => void;
}

function FeeList({ userId, fees, isLoading, open, charge }: ListProps) {
  const { may } = useSession();
  const [status, setStatus] = useSearchValue('fees', 'open');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const rows = fees.filter(({ account }) => status === 'all' || (account.status.name === 'Open') === (status === 'open'));
  const marked = rows.filter(({ account }) => chosen.has(account.id ?? ''));
  const owed = limitOf('pay', fees);
  const suspended = fees.filter(({ account }) => account.paymentStatus.name === 'Suspended claim returned').reduce((sum, { account }) => sum + centsOf(account.remaining), 0);

  function choose(ids: string[], on: boolean) {
    const next = new Set(chosen);
    for (const id of ids) if (on) next.add(id);
      else next.delete(id);
    setChosen(next);
  }

  return (
    <>
      <div className="filters">
        <Choice label={t('column.status')} value={status} onChange={setStatus} options={STATUSES.map((value) => ({ value, label: t(`fees.${value}`) }))} />
        <p className="grow">
          <strong>{t('users.owes', { amount: formatMoney(owed / 100) })}</strong>
          {suspended > 0 && <span className="hint"> {t('patron.suspended', { amount: formatMoney(suspended / 100) })}</span>}
        </p>
        <ActionButton variant="primary" why={may('accounts.item.post') && may('feefineactions.item.post') ? undefined : t('why.noPermission')} onPress={charge}>
          {t('fees.new')}
        </ActionButton>
      </div>
      {rows.length > 0 && (
        <div className="toolbar-actions" role="group" aria-label={t('fees.chosenActions')}>
          <Tick isSelected={marked.length === rows.length} isIndeterminate={marked.length > 0 && marked.length < rows.length} onChange={(on) => choose(rows.map(({ account }) => account.id ?? ''), on)}>
            {marked.length === 0 ? t('fees.chooseAll') : tn('fees.count', marked.length)}
          </Tick>
          {marked.length === 0 && <span className="hint">{t('fees.chooseHint')}</span>}
          {marked.length > 0 && FEE_ACTIONS.map((action) => {
            const why = whyNot(action, marked, may);
            return (
              <ActionButton key={action} why={why && t(why)} onPress={() => open(action, marked)}>
                {t(`fees.action.${action}`)}
              </ActionButton>
            );
          })}
        </div>
      )}
      <Listing
        label={t('users.tab.fees')}
        rows={isLoading ? undefined : rows}
        isLoading={isLoading}
        error={undefined}
        empty={t('users.noFees')}
        rowKey={({ account }) => account.id ?? ''}
        columns={[
          {
            title: <span className="visually-hidden">{t('fees.chosen')}</span>,
            className: 'state',
            cell: ({ account }) => (
              <Tick isSelected={chosen.has(account.id ?? '')} onChange={(on) => choose([account.id ?? ''], on)}>
                <span className="visually-hidden">{t('fees.choose', { type: account.feeFineType ?? '', title: account.title ?? '' })}</span>
              </Tick>
            ),
          },
          { title: t('column.feeType'), cell: ({ account }) => <a href={to('users', userId, 'fees', account.id ?? '')}>{account.feeFineType}</a> },
          { title: t('column.title'), cell: ({ account }) => account.title },
          { title: t('column.charged'), cell: ({ account }) => formatDate(account.dateCreated ?? (account.metadata?.['createdDate'] as string | undefined)) },
          { title: t('column.amount'), cell: ({ account }) => formatMoney(Number(account.amount)), className: 'money' },
          { title: t('column.remaining'), cell: ({ account }) => formatMoney(Number(account.remaining)), className: 'money' },
          { title: t('column.payment'), cell: ({ account }) => account.paymentStatus.name },
          {
            title: t('column.actions'),
            className: 'actions',
            cell: (fee) => (
              <RowMenu
                label={`${fee.account.feeFineType ?? ''} ${fee.account.title ?? ''}`}
                actions={FEE_ACTIONS.map((action) => {
                  const why = whyNot(action, [fee], may);
                  return { id: action, label: t(`fees.action.${action}`), why: why && t(why), run: () => open(action, [fee]) };
                })}
              />
            ),
          },
        ]}
      />
    </>
  );
}
