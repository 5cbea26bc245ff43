/* Rows of field, operator and value, all of which must hold. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ActionButton, Choice, Field, Tick } from '../../parts/controls.tsx';
import { useSettled } from '../../parts/useSearch.ts';
import { t } from '../../text/messages.ts';
import { type Condition, inputOf, isSeveral, operatorsOf } from './conditions.ts';
import { type EntityColumn, fieldValues } from './list-api.ts';

interface Props {
  entityTypeId: string;
  columns: ReadonlyMap<string, EntityColumn>;
  conditions: Condition[];
  onChange: (conditions: Condition[]) => void;
}

export function QueryBuilder({ entityTypeId, columns, conditions, onChange }: Props) {
  const fields = [...columns.values()].filter((column) => column.queryable && !column.hidden).map((column) => ({ value: column.name, label: column.labelAlias }));
  const change = (index: number, part: Partial<Condition>) => onChange(conditions.map((one, at) => (at === index ? { ...one, ...part } : one)));
  return (
    <div className="part">
      {conditions.map((condition, index) => {
        const column = columns.get(condition.field);
        const number = index + 1;
        return (
          <div key={index} className="condition" role="group" aria-label={t('lists.condition', { number })}>
            <Choice
              label={t('lists.field')}
              value={condition.field}
              onChange={(field) => {
                const first = columns.get(field);
                change(index, { field, operator: first ? (operatorsOf(first)[0] ?? '$eq') : '$eq', values: first && inputOf(first) === 'boolean' ? ['true'] : [''] });
              }}
              options={[{ value: '', label: '–' }, ...fields]}
            />
            {column && (
              <Choice
                label={t('lists.operator')}
                value={condition.operator}
                onChange={(wanted) => {
                  const operator = operatorsOf(column).find((one) => one === wanted) ?? '$eq';
                  const values = operator === '$empty' ? ['true'] : condition.operator === '$empty' ? [''] : isSeveral(operator) ? condition.values : condition.values.slice(0, 1);
                  change(index, { operator, values });
                }}
                options={operatorsOf(column).map((value) => ({ value, label: t(`lists.operator.${value}`) }))}
              />
            )}
            {column && <Value entityTypeId={entityTypeId} column={column} condition={condition} onChange={(values) => change(index, { values })} />}
            <ActionButton variant="quiet" aria-label={t('lists.removeCondition', { number })} onPress={() => onChange(conditions.filter((_, at) => at !== index))}>
              {t('userForm.remove')}
            </ActionButton>
          </div>
        );
      })}
      <div>
        <ActionButton onPress={() => onChange([...conditions, { field: '', operator: '$eq', values: [''] }])}>{t('lists.addCondition')}</ActionButton>
      </div>
    </div>
  );
}

function Value({ entityTypeId, column, condition, onChange }: { entityTypeId: string; column: EntityColumn; condition: Condition; onChange: (values: string[]) => void }) {
  const [value = ''] = condition.values;
  const label = t('lists.value');
  if (condition.operator === '$empty') {
    return <Choice label={label} value={value} onChange={(one) => onChange([one])} options={[{ value: 'true', label: t('yes') }, { value: 'false', label: t('no') }]} />;
  }
  switch (inputOf(column)) {
    case 'boolean':
      return <Choice label={label} value={value} onChange={(one) => onChange([one])} options={[{ value: 'true', label: t('yes') }, { value: 'false', label: t('no') }]} />;
    case 'choice':
      return <Chosen entityTypeId={entityTypeId} column={column} several={isSeveral(condition.operator)} values={condition.values} onChange={onChange} />;
    case 'date':
      return <Field type="date" label={label} value={value} onChange={(one) => onChange([one])} />;
    case 'number':
      return <Field type="number" label={label} value={value} onChange={(one) => onChange([one])} />;
    case 'text':
      if (isSeveral(condition.operator)) return <Field label={t('lists.values')} rows={2} value={condition.values.join('\n')} onChange={(text) => onChange(text.split('\n'))} />;
      return <Field label={label} value={value} onChange={(one) => onChange([one])} />;
  }
}

/** A selection among values that the server lists: one or several. */
function Chosen({ entityTypeId, column, several, values, onChange }: { entityTypeId: string; column: EntityColumn; several: boolean; values: string[]; onChange: (values: string[]) => void }) {
  const [text, setText] = useState('');
  const search = useSettled(text.trim());
  const query = useQuery({
    queryKey: ['field-values', entityTypeId, column.name, search],
    staleTime: 60_000,
    queryFn: () => fieldValues(entityTypeId, column.name, search),
    placeholderData: (previous) => previous,
  });
  const known = query.data ?? column.values ?? [];
  const chosen = values.filter((value) => value !== '');
  const missing = chosen.filter((value) => !known.some((one) => one.value === value)).map((value) => ({ value, label: value }));
  const options = [...missing, ...known];
  if (!several) return <Choice label={t('lists.value')} value={values[0] ?? ''} onChange={(value) => onChange([value])} options={[{ value: '', label: '–' }, ...options]} />;
  return (
    <fieldset className="field chosen">
      <legend className="label">{t('lists.valuesChosen', { number: chosen.length })}</legend>
      {(known.length > 10 || text !== '') && <Field type="search" label={t('lists.findValue')} value={text} onChange={setText} />}
      <div className="value-list" role="group" aria-label={t('lists.values')} tabIndex={0}>
        {options.map((option) => (
          <Tick key={option.value} isSelected={chosen.includes(option.value)} onChange={(on) => onChange([...chosen.filter((one) => one !== option.value), ...(on ? [option.value] : [])])}>
            {option.label}
          </Tick>
        ))}
      </div>
    </fieldset>
  );
}
