/*
 * The rows of a scanning desk, newest first. A scan takes the same time however long the list is: a row re-renders only
 * when it changes, and only the newest rows are in the page; scrolling or a button adds the earlier ones.
 */
import { memo, type ReactNode, useEffect, useRef, useState } from 'react';
import { ActionButton } from '../../parts/controls.tsx';
import { type RowAction, RowMenu } from '../../parts/RowMenu.tsx';
import { t, tn } from '../../text/messages.ts';
import { RowSign } from './RowSign.tsx';
import type { ScanRow } from './scan-row.ts';

export interface ScanColumn<R> {
  title: () => string;
  className?: string;
  cell: (row: R, number: number) => ReactNode;
}

interface Props<R extends ScanRow> {
  rows: R[];
  /** Scans of the session; more than the rows where the oldest are no longer kept. */
  total: number;
  columns: readonly ScanColumn<R>[];
  actionsOf: (row: R) => RowAction[];
  empty: string;
}

/** Rows that are in the page at first, and that are added at a time. */
const SHOWN = 30;

export function ScanRows<R extends ScanRow>({ rows, total, columns, actionsOf, empty }: Props<R>) {
  // Stored when the user scrolls: reading the scroll position after a scan would force a layout.
  const isAtTop = useRef(true);
  const [shown, setShown] = useState(SHOWN);
  const hidden = rows.length - shown;
  const newest = rows[0]?.id;
  useEffect(() => {
    // At the top, only the newest rows are kept in the page.
    if (isAtTop.current) setShown(SHOWN);
  }, [newest]);
  const Row = ScanRowLine as unknown as (props: RowProps<R>) => ReactNode;
  return (
    <div
      className="rows-frame"
      role="region"
      aria-label={t('rows.list')}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        isAtTop.current = scrollTop === 0;
        if (hidden > 0 && scrollTop + 2 * clientHeight > scrollHeight) setShown(shown + SHOWN);
      }}
    >
      <table className="rows" aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            <th className="state">
              <span className="visually-hidden">{t('column.result')}</span>
            </th>
            {columns.map((column, index) => (
              <th key={index} className={column.className}>
                {column.title()}
              </th>
            ))}
            <th className="actions">
              <span className="visually-hidden">{t('column.actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown).map((row, index) => (
            <Row key={row.id} row={row} number={total - index} columns={columns} actionsOf={actionsOf} />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p className="empty">{empty}</p>}
      {hidden > 0 && (
        <p className="more-rows">
          <ActionButton onPress={() => setShown(shown + SHOWN)}>{tn('rows.earlier', hidden)}</ActionButton>
        </p>
      )}
    </div>
  );
}

interface RowProps<R extends ScanRow> {
  row: R;
  number: number;
  columns: readonly ScanColumn<R>[];
  actionsOf: (row: R) => RowAction[];
}

const ScanRowLine = memo(
  function ScanRowLine<R extends ScanRow>({ row, number, columns, actionsOf }: RowProps<R>) {
    return (
      <tr className={`row ${row.state}`} data-state={row.state} aria-rowindex={number + 1}>
        <td className="state">
          <RowSign state={row.state} />
        </td>
        {columns.map((column, index) => (
          <td key={index} className={column.className}>
            {column.cell(row, number)}
          </td>
        ))}
        <td className="actions">
          <RowMenu label={row.title ?? row.barcode} actions={actionsOf(row)} />
        </td>
      </tr>
    );
  },
  (before, after) => before.row === after.row && before.number === after.number,
);
