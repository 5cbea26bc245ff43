import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Loan } from '../../api/bodies.ts';
import { to } from '../../layout/route.ts';
import { useHotkeys } from '../../layout/hotkeys.ts';
import { ActionButton, Message, type Kind } from '../../parts/controls.tsx';
import { Listing } from '../../parts/listing.tsx';
import { RowMenu } from '../../parts/RowMenu.tsx';
import { useSession } from '../../session/session.tsx';
import { formatDate, formatDateTime, formatRelative } from '../../text/dates.ts';
import { currentLanguage, t, tn } from '../../text/messages.ts';
import * as api from '../circulation-api.ts';
import { linesOf } from '../../api/failure.ts';
import { useFeeActions } from '../fees/UserFees.tsx';
import { useLoanActions } from '../loan-dialogs.tsx';
import { EXPLAIN_NOTICES, LoanNotices } from '../notices/LoanNotices.tsx';

export function UserLoans({ userId, status }: { userId: string; status: 'Open' | 'Closed' }) {
  const session = useSession();
  const queries = useQueryClient();
  const query = useQuery({ queryKey: ['loans', userId, status], queryFn: () => api.loansOf(userId, status) });
  const [result, setResult] = useState<{ kind: Kind; lines: string[] }>();
  const [renewing, setRenewing] = useState(false);
  const refresh = () => void queries.invalidateQueries({ queryKey: ['loans', userId] });
  const loanActions = useLoanActions(
    (loan, message) => {
      setResult({ kind: 'success', lines: [`${loan.item.title ?? ''}: ${message}`] });
      refresh();
    },
    (message) => setResult({ kind: 'error', lines: [message] }),
  );
  const fees = useFeeActions(userId);
  const loans = query.data ?? [];
  const [explaining, setExplaining] = useState<Loan>();
  const explain = (loan: Loan) => (session.may(EXPLAIN_NOTICES) ? [{ id: 'notices', label: t('notices.title'), run: () => setExplaining(loan) }] : []);
  const chargeFor = (loan: Loan) => (session.may('accounts.item.post') && session.may('feefineactions.item.post') ? [{ id: 'newFee', label: t('fees.new'), run: () => fees.charge(loan) }] : []);
  const mayRenew = session.may('circulation.renew-by-id.post');

  async function renewAll() {
    setRenewing(true);
    const refused: string[] = [];
    for (const loan of loans) {
      await api.renew(loan, session.servicePoint?.id ?? '').catch((error: unknown) => refused.push(`${loan.item.title ?? ''}: ${linesOf(error).join(' ')}`));
    }
    setRenewing(false);
    const renewed = tn('users.renewed', loans.length - refused.length);
    setResult({ kind: refused.length > 0 ? 'warning' : 'success', lines: [renewed, ...refused] });
    refresh();
  }
  useHotkeys(status === 'Open' && mayRenew && loans.length > 0 ? { renew: () => void renewAll() } : {});

  return (
    <>
      {fees.result && <Message kind="success">{fees.result}</Message>}
      {result && (
        <Message kind={result.kind}>
          {result.lines.map((line) => (
            <div key={line}>{line}</div>
          ))}
        </Message>
      )}
      {status === 'Open' && loans.length > 0 && mayRenew && (
        <div>
          <ActionButton isDisabled={renewing} onPress={() => void renewAll()}>
            {tn('users.renewAll', loans.length)}
          </ActionButton>
        </div>
      )}
      <Listing
        label={t(status === 'Open' ? 'users.tab.loans' : 'users.tab.closed')}
        rows={query.data}
        isLoading={query.isLoading}
        error={query.error}
        empty={t('users.noLoans')}
        rowKey={(loan) => loan.id}
        columns={[
          { title: t('column.title'), cell: (loan) => <a href={to('items', loan.itemId)}>{loan.item.title}</a> },
          { title: t('column.barcode'), cell: (loan) => loan.item.barcode, className: 'digits' },
          { title: t('column.loaned'), cell: (loan) => formatDate(loan.loanDate), className: 'due' },
          status === 'Open'
            ? {
                title: t('column.dueDate'),
                className: 'due',
                cell: (loan) => (
                  <span className={api.isPast(loan.dueDate) ? 'overdue' : ''}>
                    {formatDateTime(loan.dueDate)} <span className="hint">{formatRelative(loan.dueDate, currentLanguage())}</span>
                  </span>
                ),
              }
            : { title: t('column.returned'), cell: (loan) => formatDateTime(loan.returnDate ?? loan.systemReturnDate) },
          { title: t('column.renewals'), cell: (loan) => loan.renewalCount ?? 0, className: 'number' },
          { title: t('column.loanPolicy'), cell: (loan) => loan.loanPolicy?.name, className: 'policy' },
          { title: t('column.status'), cell: (loan) => loan.item.status?.name, className: 'policy' },
          {
            title: t('column.actions'),
            className: 'actions',
            cell: (loan) => <RowMenu label={loan.item.title ?? ''} actions={[...loanActions.actionsOf(loan), ...explain(loan), ...chargeFor(loan)]} />,
          },
        ]}
      />
      {loanActions.dialog}
      {fees.dialog}
      {explaining && <LoanNotices loan={explaining} close={() => setExplaining(undefined)} />}
    </>
  );
}
