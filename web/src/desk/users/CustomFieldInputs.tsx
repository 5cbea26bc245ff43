import { Choice, Field, Tick } from '../../parts/controls.tsx';
import { t } from '../../text/messages.ts';
import { type CustomField, linesOfValue, optionsOf, valueOfLines } from './custom-fields.ts';

type Values = Record<string, unknown>;

/** One control for each custom field of the library. */
export function CustomFieldInputs({ fields, values, onChange }: { fields: CustomField[]; values: Values; onChange: (values: Values) => void }) {
  return fields.map((field) => <Input key={field.id} field={field} value={values[field.refId]} onChange={(value) => onChange({ ...values, [field.refId]: value })} />);
}

function Input({ field, value, onChange }: { field: CustomField; value: unknown; onChange: (value: unknown) => void }) {
  const common = { label: field.name, isRequired: field.required === true, hint: field.helpText };
  const text = linesOfValue(value);
  switch (field.type) {
    case 'SINGLE_CHECKBOX':
      return (
        <div className="field">
          <Tick isSelected={value === true} onChange={onChange}>
            {field.name}
          </Tick>
          {field.helpText && <span className="hint">{field.helpText}</span>}
        </div>
      );
    case 'DATE_PICKER':
      return <Field {...common} type="date" value={text} onChange={onChange} />;
    case 'TEXTBOX_SHORT':
    case 'TEXTBOX_LONG':
      if (field.isRepeatable) return <Field {...common} rows={3} value={text} hint={field.helpText ?? t('userForm.onePerLine')} onChange={(lines) => onChange(valueOfLines(lines))} />;
      return <Field {...common} value={text} onChange={onChange} {...(field.type === 'TEXTBOX_LONG' ? { rows: 3 } : {})} />;
    case 'SINGLE_SELECT_DROPDOWN':
    case 'RADIO_BUTTON':
      if (!field.isRepeatable) {
        const options = optionsOf(field).map((option) => ({ value: option.id, label: option.value }));
        return <Choice label={field.name} value={text} onChange={onChange} options={[{ value: '', label: '–' }, ...options]} />;
      }
      return <Several field={field} value={value} onChange={onChange} />;
    case 'MULTI_SELECT_DROPDOWN':
      return <Several field={field} value={value} onChange={onChange} />;
  }
}

function Several({ field, value, onChange }: { field: CustomField; value: unknown; onChange: (value: string[]) => void }) {
  const chosen: unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return (
    <fieldset className="field">
      <legend className="label">{field.name}</legend>
      {optionsOf(field).map((option) => (
        <Tick
          key={option.id}
          isSelected={chosen.includes(option.id)}
          onChange={(on) => onChange(optionsOf(field).map((one) => one.id).filter((id) => (id === option.id ? on : chosen.includes(id))))}
        >
          {option.value}
        </Tick>
      ))}
    </fieldset>
  );
}
