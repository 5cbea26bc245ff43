/* Small accessible controls with the desk's styles, based on react-aria. */
import type { ReactNode, Ref } from 'react';
import { Button, type ButtonProps, Checkbox, type CheckboxProps, Input, Label, TextField, TextArea } from 'react-aria-components';
import { t } from '../text/messages.ts';

export interface ActionButtonProps extends Omit<ButtonProps, 'children'> {
  variant?: 'primary' | 'secondary' | 'quiet' | 'danger';
  /** Why the button is disabled; shown and read out. */
  why?: string | undefined;
  children: ReactNode;
}

/** A button; if it is disabled with a reason it stays focusable, so that the reason can be read. */
export function ActionButton({ variant = 'secondary', why, children, onPress, ...rest }: ActionButtonProps) {
  const refused = why !== undefined;
  return (
    <span className="action" title={why}>
      <Button
        {...rest}
        {...(rest.autoFocus ? { 'data-safe': '' } : {})}
        {...(onPress && !refused ? { onPress } : {})}
        className={`button ${variant}${refused ? ' refused' : ''}`}
      >
        {children}
        {refused && <span className="why"> ({why})</span>}
      </Button>
    </span>
  );
}

interface FieldProps {
  label: string;
  name?: string;
  type?: 'text' | 'password' | 'search' | 'date' | 'time' | 'datetime-local' | 'number';
  value?: string;
  defaultValue?: string;
  onChange?: (value: string) => void;
  isRequired?: boolean;
  isDisabled?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
  inputRef?: Ref<HTMLInputElement>;
  hint?: ReactNode;
  rows?: number;
  /** A barcode reader may fill this field; in other fields a scan goes to the page's barcode field. */
  takesScans?: boolean;
}

export function Field({ label, inputRef, hint, rows, autoComplete = 'off', autoFocus = false, takesScans = false, ...rest }: FieldProps) {
  const safe = { ...(autoFocus ? { 'data-safe': '' } : {}), ...(takesScans ? { 'data-takes-scans': '' } : {}) };
  return (
    <TextField {...rest} autoComplete={autoComplete} className="field">
      <Label>
        {label}
        {rest.isRequired && <span aria-hidden="true" className="required"> *</span>}
      </Label>
      {rows ? <TextArea rows={rows} autoFocus={autoFocus} {...safe} /> : <Input {...(inputRef ? { ref: inputRef } : {})} autoFocus={autoFocus} spellCheck={false} {...safe} />}
      {hint && <span className="hint">{hint}</span>}
    </TextField>
  );
}

/** A selection among a few values; the browser's native control, which screen readers and phones support. */
export function Choice({ label, value, onChange, options, autoFocus }: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: { value: string; label: string }[];
  autoFocus?: boolean;
}) {
  return (
    <label className="field">
      <span className="label">{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)} autoFocus={autoFocus}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Tick({ children, ...rest }: Omit<CheckboxProps, 'children'> & { children: ReactNode }) {
  return (
    <Checkbox {...rest} className="tick">
      <span className="tick-box" aria-hidden="true">
        <svg viewBox="0 0 16 16">
          <path d="M3 8.5l3.4 3.4L13 5" />
        </svg>
      </span>
      <span>{children}</span>
    </Checkbox>
  );
}

export type Kind = 'success' | 'information' | 'warning' | 'error';

const SHAPES: Record<Kind, string> = {
  success: 'M4 10.5l4 4 8-9',
  information: 'M10 9v6M10 5.2v.4',
  warning: 'M10 5v6M10 14.4v.4',
  error: 'M5.5 5.5l9 9M14.5 5.5l-9 9',
};

/** A distinct icon for each kind of result, because color alone is not accessible. */
export function Sign({ kind }: { kind: Kind }) {
  return (
    <svg className={`sign ${kind}`} viewBox="0 0 20 20" role="img" aria-label={t(`kind.${kind}`)}>
      {kind === 'warning' ? <path className="ground" d="M10 .8L19.6 18H.4z" /> : kind === 'error' ? <rect className="ground" x="1" y="1" width="18" height="18" rx="3" /> : <circle className="ground" cx="10" cy="10" r="9.4" />}
      <path className="mark" d={SHAPES[kind]} />
    </svg>
  );
}

export function Message({ kind, children, quiet = false }: { kind: Kind; children: ReactNode; quiet?: boolean }) {
  return (
    <div className={`message ${kind}`} role={quiet ? undefined : kind === 'error' || kind === 'warning' ? 'alert' : 'status'}>
      <Sign kind={kind} />
      <div>{children}</div>
    </div>
  );
}

export function Loading() {
  return (
    <p className="loading" role="status">
      {t('loading')}
    </p>
  );
}
