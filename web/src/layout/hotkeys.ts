/* Hotkeys: one table of names and defaults; each browser may map them to other keys. */
import { useLayoutEffect, useRef } from 'react';
import { isPromptOpen } from './overlays.ts';
import { deviceSettings, rememberOnDevice } from '../session/device.ts';

export const DEFAULT_HOTKEYS = {
  help: 'F1',
  checkOut: 'Alt+U',
  checkIn: 'Alt+R',
  renew: 'Alt+W',
  find: 'Alt+Q',
  servicePoint: 'Alt+P',
  endSession: 'Alt+E',
  newestRow: 'Alt+A',
  scanField: 'Alt+S',
  dueDate: 'Alt+D',
  newRecord: 'Alt+N',
  edit: 'Ctrl+Alt+E',
  save: 'Ctrl+S',
  duplicate: 'Alt+C',
  refreshList: 'Alt+L',
  exportList: 'Alt+X',
} as const;

export type Hotkey = keyof typeof DEFAULT_HOTKEYS;
export const HOTKEYS = Object.keys(DEFAULT_HOTKEYS) as Hotkey[];

export function keysOf(hotkey: Hotkey): string {
  return deviceSettings().hotkeys[hotkey] ?? DEFAULT_HOTKEYS[hotkey];
}

export function remap(hotkey: Hotkey, keys: string | undefined): void {
  const { [hotkey]: _, ...others } = deviceSettings().hotkeys;
  rememberOnDevice({ hotkeys: keys === undefined ? others : { ...others, [hotkey]: keys } });
}

interface KeyPress {
  key: string;
  code?: string;
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
}

/** The pressed keys in the table's notation, for instance `Alt+U`; undefined for a modifier alone. */
export function pressedKeys(event: KeyPress): string | undefined {
  if (['Alt', 'Control', 'Meta', 'Shift', 'Dead'].includes(event.key)) return undefined;
  // With Alt some layouts produce other letters; use the physical key.
  const letter = event.altKey ? /^(?:Key|Digit)(\w)$/.exec(event.code ?? '')?.[1] : undefined;
  const key = letter ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  const modifiers = [event.ctrlKey && 'Ctrl', event.metaKey && 'Meta', event.altKey && 'Alt', event.shiftKey && 'Shift'];
  return [...modifiers.filter(Boolean), key].join('+');
}

/** Keys allowed as hotkeys: with Alt, Ctrl or Meta, or a function key, so that no scan contains them. */
export function canBeHotkey(keys: string): boolean {
  return /^(Ctrl|Meta|Alt)\+/.test(keys) || /^(Shift\+)?F\d{1,2}$/.test(keys);
}

/** Calls the functions while the component is shown and no dialog is open. */
export function useHotkeys(functions: Partial<Record<Hotkey, () => void>>): void {
  const latest = useRef(functions);
  latest.current = functions;
  // A page that is hidden while another loads ignores keys.
  useLayoutEffect(() => {
    function pressed(event: KeyboardEvent) {
      if (event.defaultPrevented || isPromptOpen()) return;
      const keys = pressedKeys(event);
      const hotkey = HOTKEYS.find((one) => keysOf(one) === keys && latest.current[one]);
      if (!hotkey) return;
      event.preventDefault();
      latest.current[hotkey]?.();
    }
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
}
