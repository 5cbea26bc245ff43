import type { CheckInAnswer } from '../../api/bodies.ts';
import { go } from '../../layout/route.ts';
import type { RowAction } from '../../parts/RowMenu.tsx';
import { useStore } from '../../parts/store.ts';
import { formatMoney, formatTime } from '../../text/dates.ts';
import { t } from '../../text/messages.ts';
import { callNumber } from '../items.ts';
import type { SendOn } from '../prompts.ts';
import { RowMessages } from '../scanning/RowSign.tsx';
import { type ScanColumn, ScanRows } from '../scanning/ScanRows.tsx';
import { type CheckInRow, type CheckInSession, sendOnOf } from './check-in-session.ts';

interface Props {
  session: CheckInSession;
  print: (kind: SendOn, answer: CheckInAnswer) => void;
  may: (permission: string) => boolean;
}

const COLUMNS: readonly ScanColumn<CheckInRow>[] = [
  {
    title: () => t('column.returned'),
    className: 'time',
    cell: (row) => (
      <>
        {formatTime(new Date(row.at))}
        {row.owed !== undefined && <span className="badge">{t('checkIn.owesBadge', { amount: formatMoney(row.owed) })}</span>}
      </>
    ),
  },
  {
    title: () => t('column.title'),
    cell: (row) => (
      <>
        {row.title ?? ''}
        <RowMessages messages={row.messages} requestId={row.requestId} />
      </>
    ),
  },
  { title: () => t('column.barcode'), className: 'digits', cell: ({ answer, barcode }) => answer?.item.barcode ?? barcode },
  { title: () => t('column.callNumber'), className: 'call-number', cell: ({ answer }) => answer && callNumber(answer.item.callNumberComponents, answer.item.callNumber) },
  { title: () => t('column.location'), className: 'place', cell: ({ answer }) => answer?.item.location?.name },
  { title: () => t('column.inHouse'), className: 'in-house', cell: ({ answer }) => (answer?.inHouseUse ? t('yes') : '') },
  { title: () => t('column.status'), className: 'status', cell: ({ answer }) => answer?.item.status?.name },
];

export function CheckInRows({ session, print, may }: Props) {
  const rows = useStore(session.store, (state) => state.rows);
  const total = useStore(session.store, (state) => state.scans);
  return <ScanRows rows={rows} total={total} columns={COLUMNS} actionsOf={({ answer }) => (answer ? actionsOf(answer, session, print, may) : [])} empty={t('checkIn.noItems')} />;
}

function actionsOf(answer: CheckInAnswer, session: CheckInSession, print: Props['print'], may: Props['may']): RowAction[] {
  const open = (...address: Parameters<typeof go>) => () => go(...address);
  const kind = sendOnOf(answer);
  const { loan, item } = answer;
  return [
    ...(loan?.userId ? [{ id: 'loans', label: t('loan.details'), run: open('users', loan.userId, 'loans') }] : []),
    ...(loan?.userId ? [{ id: 'patron', label: t('row.patron'), run: open('users', loan.userId) }] : []),
    { id: 'item', label: t('loan.item'), run: open('items', item.id) },
    { id: 'requests', label: t('row.requests'), run: open('items', item.id, 'requests') },
    { id: 'notes', label: t('row.notes'), run: open('items', item.id, 'notes') },
    ...(loan?.userId ? [{ id: 'fees', label: t('row.fees'), run: open('users', loan.userId, 'fees') }] : []),
    ...(kind ? [{ id: 'slip', label: t(`row.print.${kind}`), run: () => print(kind, answer) }] : []),
    ...(kind === 'inTransit' && may('inventory.items.item.put')
      ? [{ id: 'transit', label: t('row.cancelTransit'), run: () => void session.cancelTransit(answer) }]
      : []),
  ];
}
