/* What this browser remembers between visits: choices of the workplace, nothing about people. */

export interface DeviceSettings {
  tenant: string;
  servicePointId: string;
  language: string;
  sounds: boolean | null;
  receipt: 'none' | 'print' | 'e-mail';
  hotkeys: Record<string, string>;
}

const KEY = 'carrel.desk';
const DEFAULTS: DeviceSettings = { tenant: '', servicePointId: '', language: '', sounds: null, receipt: 'none', hotkeys: {} };

export function deviceSettings(): DeviceSettings {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<DeviceSettings>) };
  } catch {
    return DEFAULTS;
  }
}

export function rememberOnDevice(change: Partial<DeviceSettings>): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...deviceSettings(), ...change }));
  } catch {
    // A browser that keeps nothing still works; the choice is made anew at the next visit.
  }
}
