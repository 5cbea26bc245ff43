/*
 * Loses no key while a page renders. Text typed on a page with a barcode field arrives in that field, in order,
 * regardless of the focus: the first key moves the focus there. While the field does not exist yet, or a dialog is
 * open, keys are buffered and inserted once the field has the focus.
 */
import { homeField, onFocusHome } from './focus-home.ts';
import { isOverlayOpen, isPromptOpen } from './overlays.ts';

/** Buffered keys older than this, in milliseconds, are discarded. */
const KEPT_MS = 5_000;
/** A longer pause, in milliseconds, ends the typing of a barcode. */
const TYPING_MS = 1_000;

/** Characters, `Enter` and `Backspace`, in the order of typing. */
let kept: string[] = [];
let lastKey = Number.NEGATIVE_INFINITY;

const isTyping = () => performance.now() - lastKey < TYPING_MS;

/** Whether a barcode is being typed in the field. */
export function isTypingIn(field: HTMLInputElement): boolean {
  return field.value !== '' && isTyping();
}

/** Buffers the text being typed in a field that is removed; the next field receives it. */
export function keepTyped(field: HTMLInputElement): void {
  if (!isTypingIn(field)) return;
  kept.unshift(...field.value);
  field.value = '';
}

/** Removes a scan from the buffer, because it was recognized as a whole. */
export function withdraw(scan: string): void {
  if (kept.join('').endsWith(scan)) kept.splice(-scan.length);
}

/** A pointer event or a non-text key outside a dialog ends the typing. */
function forget(): void {
  if (isOverlayOpen()) return;
  kept = [];
  lastKey = Number.NEGATIVE_INFINITY;
}

/** Changes the text of a field and dispatches the input event, as a key would. */
export function setText(field: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  const prototype = field instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  Object.getOwnPropertyDescriptor(prototype, 'value')?.set?.call(field, text);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

function typeInto(field: HTMLInputElement, key: string): void {
  if (key === 'Enter') field.form?.requestSubmit();
  else setText(field, key === 'Backspace' ? field.value.slice(0, -1) : field.value + key);
}

/** Inserts the buffered keys into the current field. */
export function writeKept(field: HTMLInputElement): void {
  const keys = performance.now() - lastKey < KEPT_MS ? kept : [];
  kept = [];
  if (keys.length > 0) lastKey = performance.now();
  for (const key of keys) typeInto(field, key);
}

const TEXT_TYPES = new Set(['text', 'search', 'tel', 'url', 'email', 'password', 'number', 'date', 'time', 'datetime-local']);

export function isTextField(target: EventTarget | null): target is HTMLInputElement | HTMLTextAreaElement {
  return target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && TEXT_TYPES.has(target.type));
}

/** Whether the element handles letters, for instance to select an entry. A hidden page handles none. */
function takesLetters(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  const takes = isTextField(target) || target.closest('select, [contenteditable], [role=grid], [role=menu], [role=listbox], [role=tree]') !== null;
  return takes && target.checkVisibility();
}

function pressed(event: KeyboardEvent): void {
  const { key, target } = event;
  if (event.altKey || event.ctrlKey || event.metaKey || key === 'Tab' || key === 'Escape') return forget();
  if (key.length !== 1 && key !== 'Enter' && key !== 'Backspace') return;
  if (event.defaultPrevented || event.isComposing) return;
  const home = homeField();
  const isCharacter = key.length === 1 && key !== ' ';
  if (target === home) {
    lastKey = performance.now();
    return;
  }
  if (home?.disabled || takesLetters(target)) return;
  if (isOverlayOpen()) {
    if (!home || !isPromptOpen()) return;
    // A dialog that opens during a barcode must neither lose the rest of it nor be answered by its Enter.
    if (isTypingIn(home)) take(event, home);
    else if (isCharacter || (kept.length > 0 && isTyping())) take(event, undefined);
    return;
  }
  const hasBegun = kept.length > 0 || (home !== undefined && isTypingIn(home));
  // Enter and space press the focused element, unless they are part of a barcode.
  if (!hasBegun && !isCharacter) return;
  take(event, home);
  home?.focus({ preventScroll: true });
}

function take(event: KeyboardEvent, home: HTMLInputElement | undefined): void {
  lastKey = performance.now();
  event.preventDefault();
  event.stopImmediatePropagation();
  if (home) typeInto(home, event.key);
  else kept.push(event.key);
}

onFocusHome(writeKept);
document.addEventListener('keydown', pressed, true);
document.addEventListener('pointerdown', forget, true);
document.addEventListener('focusin', ({ target }) => {
  // A page without a barcode field may have another autofocused field, for instance a search.
  if (kept.length > 0 && target instanceof HTMLInputElement && isTextField(target) && !isOverlayOpen()) writeKept(target);
});
