/* Returns the focus to the page's barcode field after every scan, error, dialog and print. */

import { isOverlayOpen } from './overlays.ts';

let home: HTMLInputElement | undefined;

/** Registers the field to which the focus returns; the returned function unregisters it. */
export function setFocusHome(field: HTMLInputElement): () => void {
  home = field;
  focusHome();
  return () => {
    if (home === field) home = undefined;
  };
}

/** The field to which the focus returns; undefined if the page has none. */
export function homeField(): HTMLInputElement | undefined {
  return home?.isConnected ? home : undefined;
}

/**
 * Returns the focus now and during some following frames: a closing dialog or menu restores its previous focus only
 * after its elements are removed. Stops when the user moves the focus by Tab or pointer.
 */
export function focusHome(): void {
  stop();
  toField();
  timers = [20, 60, 120, 200, 300].map((delay) => setTimeout(toField, delay));
  requestAnimationFrame(toField);
}

/** The same, without the frames that follow if the focus is in the field already and no dialog can move it. */
export function keepFocusHome(): void {
  const field = homeField();
  if (field && document.activeElement === field && !isOverlayOpen()) whenFocused(field);
  else focusHome();
}

let timers: ReturnType<typeof setTimeout>[] = [];

function stop(): void {
  timers.forEach(clearTimeout);
  timers = [];
}
document.addEventListener('pointerdown', stop, true);
document.addEventListener('keydown', (event) => (event.key === 'Tab' || event.altKey) && stop(), true);

let whenFocused: (field: HTMLInputElement) => void = () => {};

/** Calls the function with the field each time the focus has returned to it. */
export function onFocusHome(listener: (field: HTMLInputElement) => void): void {
  whenFocused = listener;
}

function toField(): void {
  // An open dialog or menu keeps the focus.
  if (isOverlayOpen()) return;
  const field = homeField();
  if (!field || field.disabled) return;
  if (document.activeElement !== field) field.focus({ preventScroll: true });
  whenFocused(field);
}
