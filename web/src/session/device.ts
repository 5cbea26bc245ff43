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

let known: DeviceSettings | undefined;
// Another window of the desk may have changed them.
globalThis.addEventListener?.('storage', () => (known = undefined));

/** Read once: they are asked for at every key. */
export function deviceSettings(): DeviceSettings {
  known ??= readSettings();
  return known;
}

function readSettings(): DeviceSettings {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<DeviceSettings>) };
  } catch {
    return DEFAULTS;
  }
}

export function rememberOnDevice(change: Partial<DeviceSettings>): void {
  known = { ...deviceSettings(), ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(known));
  } catch {
    // A browser that keeps nothing still works; the choice is made anew at the next visit.
  }
}
