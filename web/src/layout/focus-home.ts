/* The law of focus: after every scan, error, dialog and print the focus is in the page's barcode field. */

import { isOverlayOpen } from './overlays.ts';

let home: HTMLInputElement | undefined;

/** Makes a field the one to which the focus returns; the function that comes back ends that. */
export function setFocusHome(field: HTMLInputElement): () => void {
  home = field;
  focusHome();
  return () => {
    if (home === field) home = undefined;
  };
}

/** The field to which the focus returns; undefined while the page has none. */
export function homeField(): HTMLInputElement | undefined {
  return home?.isConnected ? home : undefined;
}

/**
 * Returns the focus at once and for some frames more: a dialog or a menu that closes gives the focus back to what had
 * it before only after its elements are gone. Who moves on by Tab or by pointer is left alone.
 */
export function focusHome(): void {
  stop();
  toField();
  timers = [20, 60, 120, 200, 300].map((delay) => setTimeout(toField, delay));
  requestAnimationFrame(toField);
}

let timers: ReturnType<typeof setTimeout>[] = [];

function stop(): void {
  timers.forEach(clearTimeout);
  timers = [];
}
document.addEventListener('pointerdown', stop, true);
document.addEventListener('keydown', (event) => (event.key === 'Tab' || event.altKey) && stop(), true);

let whenFocused: (field: HTMLInputElement) => void = () => {};

/** Calls the function with the field whenever the focus has returned to it. */
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
