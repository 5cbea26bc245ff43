/* Settings that this browser stores: choices of the workplace, no personal data. */

export interface DeviceSettings {
  tenant: string;
  servicePointId: string;
  language: string;
  sounds: boolean | null;
  /** Staff are asked about barcodes with a wrong check digit. */
  checkDigits: boolean;
  receipt: 'none' | 'print' | 'e-mail';
  hotkeys: Record<string, string>;
}

const KEY = 'carrel.desk';
const DEFAULTS: DeviceSettings = { tenant: '', servicePointId: '', language: '', sounds: null, checkDigits: false, receipt: 'none', hotkeys: {} };

let known: DeviceSettings | undefined;
// Another window of the desk may have changed them.
globalThis.addEventListener?.('storage', () => (known = undefined));

/** Cached, because each key press reads them. */
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
    // Without browser storage the settings last until the page is closed.
  }
}
