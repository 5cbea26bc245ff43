/*
 * No key is lost while a page is drawn or changed. What is typed on a page with a barcode field arrives in that field,
 * in order, wherever the focus is: the focus goes there with the first key; while there is no field yet, or a dialog is
 * open, the keys are kept and written into the field as soon as it has the focus.
 */
import { homeField, onFocusHome } from './focus-home.ts';
import { isOverlayOpen, isPromptOpen } from './overlays.ts';

/** Keys that are older belong to something else, in milliseconds. */
const KEPT_MS = 5_000;
/** Who pauses longer within a barcode has stopped typing it. */
const TYPING_MS = 1_000;

/** Characters, `Enter` and `Backspace`, in the order of typing. */
let kept: string[] = [];
let lastKey = Number.NEGATIVE_INFINITY;

const isTyping = () => performance.now() - lastKey < TYPING_MS;

/** Whether a person or a reader is in the middle of a barcode in the field. */
export function isTypingIn(field: HTMLInputElement): boolean {
  return field.value !== '' && isTyping();
}

/** Takes what is being typed out of a field that goes away; the next field gets it. */
export function keepTyped(field: HTMLInputElement): void {
  if (!isTypingIn(field)) return;
  kept.unshift(...field.value);
  field.value = '';
}

/** Forgets a scan among the keys, as it was recognized whole. */
export function withdraw(scan: string): void {
  if (kept.join('').endsWith(scan)) kept.splice(-scan.length);
}

/** A pointer or a key that is no part of a text says that something else begins, except in a dialog. */
function forget(): void {
  if (isOverlayOpen()) return;
  kept = [];
  lastKey = Number.NEGATIVE_INFINITY;
}

/** Changes the text of a field as a key would, so that the page hears of it. */
export function setText(field: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  const prototype = field instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  Object.getOwnPropertyDescriptor(prototype, 'value')?.set?.call(field, text);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

function typeInto(field: HTMLInputElement, key: string): void {
  if (key === 'Enter') field.form?.requestSubmit();
  else setText(field, key === 'Backspace' ? field.value.slice(0, -1) : field.value + key);
}

/** Writes what was kept into the field that is there now. */
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

/** Whether letters mean something to the element, for instance choose an entry. A page that is hidden takes none. */
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
    // A dialog that opens in the middle of a barcode neither loses the rest of it nor is answered by its Enter.
    if (isTypingIn(home)) take(event, home);
    else if (isCharacter || (kept.length > 0 && isTyping())) take(event, undefined);
    return;
  }
  const hasBegun = kept.length > 0 || (home !== undefined && isTypingIn(home));
  // Enter and the space bar press what has the focus, unless they are part of a barcode.
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
  // A page without a barcode field may have another one that begins with the focus, for instance that of a search.
  if (kept.length > 0 && target instanceof HTMLInputElement && isTextField(target) && !isOverlayOpen()) writeKept(target);
});
