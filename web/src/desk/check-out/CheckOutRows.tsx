import { memo } from 'react';
import { to } from '../../layout/route.ts';
import { RowMenu } from '../../parts/RowMenu.tsx';
import { formatDateTime, formatRelative } from '../../text/dates.ts';
import { currentLanguage, t } from '../../text/messages.ts';
import type { useLoanActions } from '../loan-dialogs.tsx';
import { RowMessages, RowSign } from '../scanning/RowSign.tsx';
import type { CheckOutRow, CheckOutSession } from './check-out-session.ts';

interface Props {
  rows: CheckOutRow[];
  session: CheckOutSession;
  loanActions: ReturnType<typeof useLoanActions>;
}

const ACTIONS = ['changeDueDate', 'renew', 'addPatronInfo', 'addStaffInfo', 'claimReturned', 'declareLost'] as const;

export function CheckOutRows({ rows, session, loanActions }: Props) {
  return (
    <div className="rows-frame" role="region" aria-label={t('rows.list')} tabIndex={0}>
      <table className="rows">
        <thead>
          <tr>
            <th className="number">{t('column.number')}</th>
            <th className="state">
              <span className="visually-hidden">{t('column.result')}</span>
            </th>
            <th>{t('column.barcode')}</th>
            <th>{t('column.title')}</th>
            <th>{t('column.loanPolicy')}</th>
            <th>{t('column.dueDate')}</th>
            <th className="actions">
              <span className="visually-hidden">{t('column.actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <Row key={row.id} row={row} number={rows.length - index} session={session} actionsOf={loanActions.actionsOf} />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p className="empty">{t('checkOut.noItems')}</p>}
    </div>
  );
}

interface RowProps {
  row: CheckOutRow;
  number: number;
  session: CheckOutSession;
  actionsOf: ReturnType<typeof useLoanActions>['actionsOf'];
}

const Row = memo(
  function Row({ row, number, session, actionsOf }: RowProps) {
    const { loan } = row;
    const actions = loan
      ? [
          ...actionsOf(loan, ACTIONS),
          { id: 'details', label: t('loan.details'), run: () => (location.hash = to('users', loan.userId ?? '', 'loans')) },
          { id: 'item', label: t('loan.item'), run: () => (location.hash = to('items', loan.itemId)) },
          { id: 'undo', label: t('checkOut.undo'), run: () => void session.undo(row) },
        ]
      : [];
    return (
      <tr className={`row ${row.state}`} data-state={row.state}>
        <td className="number">{number}</td>
        <td className="state">
          <RowSign state={row.state} />
        </td>
        <td className="digits">{loan?.item.barcode ?? row.barcode}</td>
        <td>
          {row.title ?? ''}
          <RowMessages messages={row.messages} requestId={row.requestId} />
        </td>
        <td className="policy">{loan?.loanPolicy?.name}</td>
        <td className="due">
          {loan && (
            <>
              <span>{formatDateTime(loan.dueDate)}</span>
              <span className="hint">{formatRelative(loan.dueDate, currentLanguage())}</span>
            </>
          )}
        </td>
        <td className="actions">
          <RowMenu label={row.title ?? row.barcode} actions={actions} />
        </td>
      </tr>
    );
  },
  (before, after) => before.row === after.row && before.number === after.number,
);
