import { go } from '../../layout/route.ts';
import type { RowAction } from '../../parts/RowMenu.tsx';
import { useStore } from '../../parts/store.ts';
import { formatDateTime, formatRelative } from '../../text/dates.ts';
import { currentLanguage, t } from '../../text/messages.ts';
import type { useLoanActions } from '../loan-dialogs.tsx';
import { RowMessages } from '../scanning/RowSign.tsx';
import { type ScanColumn, ScanRows } from '../scanning/ScanRows.tsx';
import type { CheckOutRow, CheckOutSession } from './check-out-session.ts';

interface Props {
  session: CheckOutSession;
  loanActions: ReturnType<typeof useLoanActions>;
}

const ACTIONS = ['changeDueDate', 'renew', 'addPatronInfo', 'addStaffInfo', 'claimReturned', 'declareLost'] as const;

const COLUMNS: readonly ScanColumn<CheckOutRow>[] = [
  { title: () => t('column.number'), className: 'number', cell: (_, number) => number },
  { title: () => t('column.barcode'), className: 'digits', cell: ({ loan, barcode }) => loan?.item.barcode ?? barcode },
  {
    title: () => t('column.title'),
    cell: (row) => (
      <>
        {row.title ?? ''}
        <RowMessages messages={row.messages} requestId={row.requestId} />
      </>
    ),
  },
  { title: () => t('column.loanPolicy'), className: 'policy', cell: ({ loan }) => loan?.loanPolicy?.name },
  {
    title: () => t('column.dueDate'),
    className: 'due',
    cell: ({ loan }) =>
      loan && (
        <>
          <span>{formatDateTime(loan.dueDate)}</span>
          <span className="hint">{formatRelative(loan.dueDate, currentLanguage())}</span>
        </>
      ),
  },
];

export function CheckOutRows({ session, loanActions }: Props) {
  const rows = useStore(session.store, (state) => state.rows);
  function actionsOf(row: CheckOutRow): RowAction[] {
    const { loan } = row;
    if (!loan) return [];
    return [
      ...loanActions.actionsOf(loan, ACTIONS),
      { id: 'details', label: t('loan.details'), run: () => go('users', loan.userId ?? '', 'loans') },
      { id: 'item', label: t('loan.item'), run: () => go('items', loan.itemId) },
      { id: 'undo', label: t('checkOut.undo'), run: () => void session.undo(row) },
    ];
  }
  return <ScanRows rows={rows} total={rows.length} columns={COLUMNS} actionsOf={actionsOf} empty={t('checkOut.noItems')} />;
}
