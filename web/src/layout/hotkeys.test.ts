import { describe, expect, it } from 'vitest';
import { canBeHotkey, DEFAULT_HOTKEYS, pressedKeys } from './hotkeys.ts';

const press = (key: string, code: string, modifiers: Partial<Record<'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey', boolean>> = {}) =>
  pressedKeys({ key, code, altKey: false, ctrlKey: false, metaKey: false, shiftKey: false, ...modifiers });

describe('hotkeys', () => {
  it('are recognized by position where Alt makes another letter', () => {
    expect(press('µ', 'KeyU', { altKey: true })).toBe('Alt+U');
    expect(press('F1', 'F1')).toBe('F1');
  });
  it('are not a modifier alone', () => {
    expect(press('Alt', 'AltLeft', { altKey: true })).toBeUndefined();
  });
  it('can never be part of a scanned barcode', () => {
    expect(canBeHotkey('A')).toBe(false);
    expect(canBeHotkey('Shift+A')).toBe(false);
    for (const keys of Object.values(DEFAULT_HOTKEYS)) expect(canBeHotkey(keys)).toBe(true);
  });
  it('have different keys by default', () => {
    expect(new Set(Object.values(DEFAULT_HOTKEYS)).size).toBe(Object.keys(DEFAULT_HOTKEYS).length);
  });
});
