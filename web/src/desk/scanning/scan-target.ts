/*
 * Where a scan goes that does not arrive in the barcode field, or only in part: a dialog may open or close between two
 * of its characters. Keys are watched all the time, so that the barcode is known whole; it neither answers the dialog
 * nor stays in one of its fields.
 */
import { focusHome } from '../../layout/focus-home.ts';
import { isPromptOpen } from '../../layout/overlays.ts';
import { BurstDetector } from './burst.ts';

interface Target {
  field: HTMLInputElement | null;
  scan: (text: string) => void;
}

let target: Target | undefined;
let completed = '';
const burst = new BurstDetector();

export function setScanTarget(field: HTMLInputElement | null, scan: (text: string) => void): () => void {
  const own = { field, scan };
  target = own;
  return () => {
    if (target === own) target = undefined;
  };
}

/** The text of the field that is submitted, with the characters of the same scan that went elsewhere. */
export function wholeScan(text: string): string {
  const whole = completed !== '' && completed.endsWith(text.trim()) ? completed : text;
  completed = '';
  return whole;
}

let lastKey = Number.NEGATIVE_INFINITY;

/** Resolves when no barcode is being typed, so that a dialog does not open in the middle of one; at most a second. */
export async function betweenScans(): Promise<void> {
  const end = performance.now() + 1_000;
  const isTyping = () => target?.field != null && target.field.value !== '' && performance.now() - lastKey < 250;
  while (isTyping() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 15));
}

function pressed(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  completed = '';
  lastKey = event.timeStamp;
  const scan = burst.press(event.key, event.timeStamp);
  const inDialog = isPromptOpen();
  if (scan === undefined) {
    // A blank within a barcode must not press the button that has the focus.
    if (event.key === ' ' && burst.pending.length > 1 && !isField(event.target)) stop(event);
    return;
  }
  if (!inDialog && isField(event.target)) {
    completed = event.target === target?.field ? scan : '';
    return;
  }
  if (event.target instanceof Element && event.target.matches('[data-takes-scans]')) {
    // What was scanned stays there, and its Enter does nothing.
    stop(event);
    return;
  }
  if (!target) return;
  stop(event);
  removeTyped(event.target, scan);
  // What of it was typed before the dialog opened stands in the barcode field.
  if (target.field && target.field.value !== '' && scan.startsWith(target.field.value)) target.field.value = '';
  target.scan(scan);
  focusHome();
}
document.addEventListener('keydown', pressed, true);

function stop(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function isField(target: EventTarget | null): target is HTMLInputElement | HTMLTextAreaElement {
  return target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type));
}

/** Takes the characters of a scan out of the field into which the reader typed them, as far as they stand there. */
function removeTyped(target: EventTarget | null, text: string): void {
  if (!isField(target)) return;
  let length = text.length;
  while (length > 0 && !target.value.endsWith(text.slice(-length))) length -= 1;
  if (length === 0) return;
  const prototype = target instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  const setter = Object.getOwnPropertyDescriptor(prototype, 'value')?.set;
  setter?.call(target, target.value.slice(0, -length));
  target.dispatchEvent(new Event('input', { bubbles: true }));
}
