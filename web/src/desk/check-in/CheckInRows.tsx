import { memo } from 'react';
import type { CheckInAnswer } from '../../api/bodies.ts';
import { to } from '../../layout/route.ts';
import { type RowAction, RowMenu } from '../../parts/RowMenu.tsx';
import { formatMoney, formatTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { callNumber } from '../items.ts';
import type { SendOn } from '../prompts.ts';
import { RowMessages, RowSign } from '../scanning/RowSign.tsx';
import { type CheckInRow, sendOnOf } from './check-in-session.ts';

interface Props {
  rows: CheckInRow[];
  print: (kind: SendOn, answer: CheckInAnswer) => void;
}

export function CheckInRows({ rows, print }: Props) {
  return (
    <div className="rows-frame" role="region" aria-label={t('rows.list')} tabIndex={0}>
      <table className="rows">
        <thead>
          <tr>
            <th className="state">
              <span className="visually-hidden">{t('column.result')}</span>
            </th>
            <th>{t('column.returned')}</th>
            <th>{t('column.title')}</th>
            <th>{t('column.barcode')}</th>
            <th>{t('column.callNumber')}</th>
            <th>{t('column.location')}</th>
            <th>{t('column.inHouse')}</th>
            <th>{t('column.status')}</th>
            <th className="actions">
              <span className="visually-hidden">{t('column.actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.id} row={row} print={print} />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p className="empty">{t('checkIn.noItems')}</p>}
    </div>
  );
}

const Row = memo(
  function Row({ row, print }: { row: CheckInRow; print: Props['print'] }) {
    const { answer } = row;
    return (
      <tr className={`row ${row.state}`} data-state={row.state}>
        <td className="state">
          <RowSign state={row.state} />
        </td>
        <td>
          {formatTime(new Date(row.at))}
          {row.owed !== undefined && <span className="badge">{t('checkIn.owesBadge', { amount: formatMoney(row.owed) })}</span>}
        </td>
        <td>
          {row.title ?? ''}
          <RowMessages messages={row.messages} requestId={row.requestId} />
        </td>
        <td className="digits">{answer?.item.barcode ?? row.barcode}</td>
        <td>{answer && callNumber(answer.item.callNumberComponents, answer.item.callNumber)}</td>
        <td>{answer?.item.location?.name}</td>
        <td>{answer?.inHouseUse ? t('yes') : ''}</td>
        <td>{answer?.item.status?.name}</td>
        <td className="actions">
          <RowMenu label={row.title ?? row.barcode} actions={answer ? actionsOf(answer, print) : []} />
        </td>
      </tr>
    );
  },
  (before, after) => before.row === after.row,
);

function actionsOf(answer: CheckInAnswer, print: Props['print']): RowAction[] {
  const open = (...address: Parameters<typeof to>) => () => (location.hash = to(...address));
  const kind = sendOnOf(answer);
  const { loan } = answer;
  return [
    ...(loan?.userId ? [{ id: 'loans', label: t('loan.details'), run: open('users', loan.userId, 'loans') }] : []),
    ...(loan?.userId ? [{ id: 'patron', label: t('row.patron'), run: open('users', loan.userId) }] : []),
    { id: 'item', label: t('loan.item'), run: open('items', answer.item.id) },
    { id: 'requests', label: t('row.requests'), run: open('items', answer.item.id, 'requests') },
    ...(loan?.userId ? [{ id: 'fees', label: t('row.fees'), run: open('users', loan.userId, 'fees') }] : []),
    ...(kind ? [{ id: 'slip', label: t(`row.print.${kind}`), run: () => print(kind, answer) }] : []),
  ];
}
