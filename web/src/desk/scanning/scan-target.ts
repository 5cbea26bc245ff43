/*
 * Handles a scan that does not arrive in the barcode field, or only partly: a dialog may open or close between two of
 * its characters. All keys are observed, so that the barcode is complete; the scan neither answers the dialog nor stays
 * in one of its fields.
 */
import { focusHome } from '../../layout/focus-home.ts';
import { isTextField, setText, withdraw } from '../../layout/kept-keys.ts';
import { isPromptOpen } from '../../layout/overlays.ts';
import { BurstDetector } from './burst.ts';

interface Target {
  field: HTMLInputElement;
  scan: (text: string) => void;
}

let target: Target | undefined;
let completed = '';
const burst = new BurstDetector();

export function setScanTarget(field: HTMLInputElement, scan: (text: string) => void): () => void {
  const own = { field, scan };
  target = own;
  return () => {
    if (target === own) target = undefined;
  };
}

/** The text of the submitted field, with those characters of the same scan that went to other elements. */
export function wholeScan(text: string): string {
  const whole = completed !== '' && completed.endsWith(text.trim()) ? completed : text;
  completed = '';
  return whole;
}

let lastKey = Number.NEGATIVE_INFINITY;

/** Resolves when no barcode is being typed, so that a dialog does not open during one; waits at most one second. */
export async function betweenScans(): Promise<void> {
  const end = performance.now() + 1_000;
  const isTyping = () => target !== undefined && target.field.value !== '' && performance.now() - lastKey < 250;
  while (isTyping() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 15));
}

function pressed(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  completed = '';
  lastKey = performance.now();
  const scan = burst.press(event.key, event.timeStamp);
  const inDialog = isPromptOpen();
  if (scan === undefined) {
    // A space in a barcode must not press the focused button.
    if (event.key === ' ' && burst.pending.length > 1 && !isTextField(event.target)) stop(event);
    return;
  }
  if (!inDialog && isTextField(event.target)) {
    completed = event.target === target?.field ? scan : '';
    return;
  }
  if (event.target instanceof Element && event.target.matches('[data-takes-scans]')) {
    // The scanned text stays there, and its Enter does nothing.
    stop(event);
    return;
  }
  if (!target) return;
  stop(event);
  removeTyped(event.target, scan);
  withdraw(scan);
  // The part typed before the dialog opened is in the barcode field.
  if (target.field.value !== '' && scan.startsWith(target.field.value)) target.field.value = '';
  target.scan(scan);
  focusHome();
}
// Capture phase on the window, before listeners of the document, so that each key is counted.
window.addEventListener('keydown', pressed, true);

function stop(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Removes the characters of a scan from the field into which the reader typed them, if they are there. */
function removeTyped(target: EventTarget | null, text: string): void {
  if (!isTextField(target)) return;
  let length = text.length;
  while (length > 0 && !target.value.endsWith(text.slice(-length))) length -= 1;
  if (length === 0) return;
  setText(target, target.value.slice(0, -length));
}
