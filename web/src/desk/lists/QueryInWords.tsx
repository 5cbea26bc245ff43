import { t } from '../../text/messages.ts';
import { type Condition, inputOf } from './conditions.ts';
import type { EntityColumn } from './list-api.ts';

/** A query as one sentence per condition; all conditions must hold. */
export function QueryInWords({ conditions, columns }: { conditions: readonly Condition[]; columns: ReadonlyMap<string, EntityColumn> }) {
  return (
    <ul className="reasons">
      {conditions.map((condition, index) => (
        <li key={index}>{sentence(condition, columns.get(condition.field))}</li>
      ))}
    </ul>
  );
}

function sentence({ field, operator, values }: Condition, column: EntityColumn | undefined): string {
  const label = column?.labelAlias ?? field;
  if (operator === '$empty') return t(values[0] === 'false' ? 'lists.isNotEmpty' : 'lists.isEmpty', { field: label });
  const name = (value: string) => (column && inputOf(column) === 'boolean' ? t(value === 'true' ? 'yes' : 'no') : (column?.values?.find((one) => one.value === value)?.label ?? value));
  return `${label} ${t(`lists.operator.${operator}`)} ${values.map(name).join(', ')}`;
}
