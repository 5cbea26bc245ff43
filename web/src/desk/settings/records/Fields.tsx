/* A control for each field of a record. */
import { useId } from 'react';
import { ActionButton, Choice, Field as TextControl, Tick } from '../../../parts/controls.tsx';
import { hasText, t } from '../../../text/messages.ts';
import { applies, type Field, type Json, numberOf, valueAt, withValue } from './fields.ts';
import { useReferenceNames } from './reference-names.ts';

interface Props {
  fields: readonly Field[];
  record: Json;
  onChange: (record: Json) => void;
  autoFocus?: boolean;
}

export function Fields({ fields, record, onChange, autoFocus = false }: Props) {
  return (
    <div className="record-fields">
      {fields.map((field, index) => {
        if (!applies(field, record)) return null;
        if (field.kind === 'heading') return <h3 key={index}>{t(field.label)}</h3>;
        const change = (value: unknown) => onChange(withValue(record, field.at, value));
        return <Control key={index} field={field} value={valueAt(record, field.at)} onChange={change} autoFocus={autoFocus && index === 0} />;
      })}
    </div>
  );
}

/** The label of an API value; the value itself if it has no label. */
export function optionText(value: string): string {
  const key = `option.${value}`;
  return hasText(key) ? t(key) : value;
}

interface ControlProps {
  field: Exclude<Field, { kind: 'heading' }>;
  value: unknown;
  onChange: (value: unknown) => void;
  autoFocus: boolean;
}

function Control({ field, value, onChange, autoFocus }: ControlProps) {
  const label = t(field.label);
  const common = { label, isRequired: field.required ?? false, autoFocus, ...(field.hint ? { hint: t(field.hint) } : {}) };
  switch (field.kind) {
    case 'text':
      return <TextControl {...common} value={text(value)} onChange={onChange} {...(field.rows ? { rows: field.rows } : {})} />;
    case 'number':
      return <NumberControl {...common} value={value} onChange={onChange} />;
    case 'date':
      return <TextControl {...common} type="date" value={text(value).slice(0, 10)} onChange={onChange} />;
    case 'time':
      return <TextControl {...common} type="time" value={text(value).slice(0, 5)} onChange={(time) => onChange(time.length === 5 ? `${time}:00` : time)} />;
    case 'yesNo':
      return (
        <Tick isSelected={value === true} onChange={onChange}>
          {label}
        </Tick>
      );
    case 'choice':
      return <ChoiceControl label={label} value={text(value)} options={field.options.map((one) => ({ value: one, label: optionText(one) }))} onChange={onChange} />;
    case 'choices':
      return <Ticks label={label} chosen={(value as string[] | undefined) ?? []} options={field.options.map((one) => [one, optionText(one)])} onChange={onChange} />;
    case 'period':
      return <Measured {...common} units={field.units} name="duration" value={value as Json | undefined} onChange={onChange} />;
    case 'rate':
      return <Measured {...common} units={field.units} name="quantity" value={value as Json | undefined} onChange={onChange} />;
    case 'reference':
      return <Reference field={field} value={text(value)} onChange={onChange} />;
    case 'references':
      return <References field={field} value={value} onChange={onChange} hint={common.hint} />;
    case 'list':
      return <List field={field} value={(value as Json[] | undefined) ?? []} onChange={onChange} />;
  }
}

const text = (value: unknown) => (value === undefined || value === null ? '' : String(value));

function NumberControl({ value, onChange, ...common }: { label: string; isRequired: boolean; autoFocus: boolean; hint?: string; value: unknown; onChange: (value: unknown) => void }) {
  return <TextControl {...common} type="number" value={text(value)} onChange={(typed) => onChange(numberOf(typed))} />;
}

interface Option {
  value: string;
  label: string;
}

function ChoiceControl({ label, value, options, onChange }: { label: string; value: string; options: Option[]; onChange: (value: unknown) => void }) {
  const nothing = { value: '', label: t('records.notSet') };
  return <Choice label={label} value={value} options={[nothing, ...options]} onChange={(chosen) => onChange(chosen === '' ? undefined : chosen)} />;
}

function Ticks({ label, chosen, options, onChange, hint }: { label: string; chosen: string[]; options: [value: string, label: string][]; onChange: (chosen: string[]) => void; hint?: string | undefined }) {
  const id = useId();
  return (
    <fieldset className="ticks" aria-describedby={hint ? id : undefined}>
      <legend>{label}</legend>
      {options.map(([value, name]) => (
        <Tick key={value} isSelected={chosen.includes(value)} onChange={(on) => onChange(on ? [...chosen, value] : chosen.filter((one) => one !== value))}>
          {name}
        </Tick>
      ))}
      {hint && (
        <span id={id} className="hint">
          {hint}
        </span>
      )}
    </fieldset>
  );
}

interface MeasuredProps {
  label: string;
  isRequired: boolean;
  hint?: string;
  units: readonly string[];
  name: 'duration' | 'quantity';
  value: Json | undefined;
  onChange: (value: unknown) => void;
}

/** A number and its unit: a period, or an amount for each unit of time. */
function Measured({ label, isRequired, hint, units, name, value, onChange }: MeasuredProps) {
  const unit = text(value?.['intervalId']) || (units[Math.min(2, units.length - 1)] ?? '');
  const change = (number: unknown, wanted: string) => onChange(number === undefined ? undefined : { ...value, [name]: number, intervalId: wanted });
  return (
    <div className="measured">
      <TextControl label={label} isRequired={isRequired} type="number" value={text(value?.[name])} onChange={(typed) => change(numberOf(typed), unit)} hint={hint} />
      <Choice
        label={t('records.unitOf', { field: label })}
        value={unit}
        options={units.map((one) => ({ value: one, label: name === 'quantity' ? t('records.per', { unit: optionText(one) }) : optionText(one) }))}
        onChange={(wanted) => change(value?.[name], wanted)}
      />
    </div>
  );
}

function Reference({ field, value, onChange }: { field: Extract<Field, { kind: 'reference' }>; value: string; onChange: (value: unknown) => void }) {
  const names = useReferenceNames(field.of);
  return <ChoiceControl label={t(field.label)} value={value} options={[...names].map(([id, name]) => ({ value: id, label: name }))} onChange={onChange} />;
}

function References({ field, value, onChange, hint }: { field: Extract<Field, { kind: 'references' }>; value: unknown; onChange: (value: unknown) => void; hint: string | undefined }) {
  const names = useReferenceNames(field.of);
  const stored = (value as (string | { value: string })[] | undefined) ?? [];
  const chosen = stored.map((one) => (typeof one === 'string' ? one : one.value));
  function change(ids: string[]) {
    if (field.stored === 'valueAndLabel') onChange(ids.map((id) => ({ value: id, label: names.get(id) ?? '' })));
    else onChange(ids.length === 0 && !field.required ? undefined : ids);
  }
  return <Ticks label={t(field.label)} chosen={chosen} options={[...names]} onChange={change} hint={hint} />;
}

function List({ field, value, onChange }: { field: Extract<Field, { kind: 'list' }>; value: Json[]; onChange: (value: Json[]) => void }) {
  return (
    <fieldset className="record-list">
      <legend>{t(field.label)}</legend>
      {value.map((one, index) => (
        <div key={index} className="record-entry" role="group" aria-label={t('records.entry', { number: index + 1, list: t(field.label) })}>
          <Fields fields={field.of} record={one} onChange={(changed) => onChange(value.map((other, place) => (place === index ? changed : other)))} />
          <ActionButton variant="danger" aria-label={t('records.removeEntry', { number: index + 1, list: t(field.label) })} onPress={() => onChange(value.filter((_, place) => place !== index))}>
            {t('records.remove')}
          </ActionButton>
        </div>
      ))}
      <div>
        <ActionButton onPress={() => onChange([...value, field.blank])}>{t(field.add)}</ActionButton>
      </div>
    </fieldset>
  );
}
