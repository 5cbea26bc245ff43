import { type FormEvent, useId, useLayoutEffect, useRef } from 'react';
import { keepFocusHome, setFocusHome } from '../../layout/focus-home.ts';
import { keysOf } from '../../layout/hotkeys.ts';
import { keepTyped } from '../../layout/kept-keys.ts';
import { setScanTarget, wholeScan } from './scan-target.ts';

interface Props {
  label: string;
  button: string;
  onScan: (text: string) => void;
  /** Why nothing can be scanned now. */
  why?: string | undefined;
  /** Whether the focus returns here; one field of a page has it. */
  isHome: boolean;
  placeholder?: string;
}

/** The barcode field: Enter submits, and the field is empty for the next scan before that one is answered. */
export function ScanField({ label, button, onScan, why, isHome, placeholder }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const scan = useRef(onScan);
  scan.current = onScan;

  // A layout effect, so that it runs before the next key: a page that is hidden while another loads has no field.
  useLayoutEffect(() => {
    const input = field.current;
    if (!isHome || !input) return;
    const release = [setFocusHome(input), setScanTarget(input, (text) => scan.current(text))];
    return () => {
      keepTyped(input);
      release.forEach((end) => end());
    };
  }, [isHome]);

  function submit(event: FormEvent) {
    event.preventDefault();
    const text = wholeScan(field.current?.value ?? '');
    if (field.current) field.current.value = '';
    if (text.trim() !== '') onScan(text);
    keepFocusHome();
  }

  return (
    <form className="scan-field" onSubmit={submit} role="search" aria-label={label}>
      <label htmlFor={id}>{label}</label>
      <div className="scan-input">
        <input
          id={id}
          ref={field}
          disabled={why !== undefined}
          placeholder={why ?? placeholder}
          autoComplete="off"
          autoCapitalize="off"
          autoCorrect="off"
          spellCheck={false}
          enterKeyHint="send"
          aria-keyshortcuts={isHome ? keysOf('scanField') : undefined}
        />
        <button type="submit" className="button primary" disabled={why !== undefined}>
          {button}
        </button>
      </div>
    </form>
  );
}
