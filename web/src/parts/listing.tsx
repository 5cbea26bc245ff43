import type { ReactNode } from 'react';
import { Failure, linesOf } from '../api/failure.ts';
import { t, tn } from '../text/messages.ts';
import { ActionButton, Loading, Message } from './controls.tsx';
import { RequestId } from '../desk/scanning/RowSign.tsx';
import { PAGE_SIZE } from './useSearch.ts';

/** What went wrong, why, and the number under which the server's log has it. */
export function FailureMessage({ error }: { error: unknown }) {
  return (
    <Message kind="error">
      {linesOf(error).join(' ')} {error instanceof Failure && error.requestId && <RequestId id={error.requestId} />}
    </Message>
  );
}

interface PagerProps {
  total: number;
  offset: number;
  goTo: (offset: number) => void;
}

export function Pager({ total, offset, goTo }: PagerProps) {
  return (
    <div className="pager">
      <span role="status">{tn('rows.found', total)}</span>
      {total > PAGE_SIZE && (
        <span>
          <ActionButton isDisabled={offset === 0} onPress={() => goTo(Math.max(0, offset - PAGE_SIZE))}>
            {t('pager.before')}
          </ActionButton>{' '}
          <ActionButton isDisabled={offset + PAGE_SIZE >= total} onPress={() => goTo(offset + PAGE_SIZE)}>
            {t('pager.next')}
          </ActionButton>
        </span>
      )}
    </div>
  );
}

interface Column<R> {
  title: ReactNode;
  cell: (row: R) => ReactNode;
  className?: string;
}

/** A table with its states: loading, failed, empty. */
export function Listing<R>({ rows, columns, rowKey, isLoading, error, empty, label }: {
  rows: R[] | undefined;
  columns: Column<R>[];
  rowKey: (row: R) => string;
  isLoading: boolean;
  error: unknown;
  empty: string;
  label: string;
}) {
  if (error) return <FailureMessage error={error} />;
  if (isLoading && !rows) return <Loading />;
  if (!rows || rows.length === 0) return <p className="empty">{empty}</p>;
  return (
    <div className="table-frame" role="group" aria-label={label} tabIndex={0}>
      <table className="rows listing">
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} className={column.className}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className="listed">
              {columns.map((column, index) => (
                <td key={index} className={column.className} data-title={typeof column.title === 'string' ? column.title : undefined}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Names and values of a record. */
export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value || '–'}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Tabs({ label, tabs, current }: { label: string; tabs: { href: string; name: string; label: string }[]; current: string }) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.name} href={tab.href} aria-current={tab.name === current ? 'page' : undefined}>
          {tab.label}
        </a>
      ))}
    </nav>
  );
}
