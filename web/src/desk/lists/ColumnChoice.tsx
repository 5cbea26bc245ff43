import { Tick } from '../../parts/controls.tsx';
import { t } from '../../text/messages.ts';
import type { EntityColumn } from './list-api.ts';

/** Selects the columns, in the order of the record type. */
export function ColumnChoice({ columns, chosen, onChange }: { columns: ReadonlyMap<string, EntityColumn>; chosen: readonly string[]; onChange: (chosen: string[]) => void }) {
  const all = [...columns.values()].filter((column) => !column.hidden && !column.queryOnly);
  return (
    <details className="column-choice">
      <summary>{t('lists.columns', { chosen: chosen.length, all: all.length })}</summary>
      <fieldset className="tick-list">
        <legend className="visually-hidden">{t('lists.columnsLegend')}</legend>
        {all.map((column) => (
          <Tick
            key={column.name}
            isSelected={chosen.includes(column.name)}
            onChange={(on) => onChange(all.map((one) => one.name).filter((name) => (name === column.name ? on : chosen.includes(name))))}
          >
            {column.labelAlias}
          </Tick>
        ))}
      </fieldset>
    </details>
  );
}
