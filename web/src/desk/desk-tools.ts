/* What the scanning logic needs from the browser; tests pass a substitute. */
import type { Kind } from '../parts/controls.tsx';
import type { DeskSettings } from '../session/settings.ts';
import type { Ask } from './prompts.ts';

export interface DeskTools {
  ask: Ask;
  /** Makes the sound of a result, where sounds are on. */
  sound: (kind: Kind) => void;
  /** Runs the function when the browser has nothing else to do, so that it does not delay a scan's result. */
  whenIdle: (run: () => void) => void;
  /** Whether staff are asked about barcodes with a wrong check digit. */
  checksDigits: () => boolean;
  may: (permission: string) => boolean;
  servicePointId: () => string;
  /** What happens to returned items that are lent for use at the location; by default staff choose. */
  useAtLocationReturn: () => string;
  /** The staff member at the desk. */
  username: () => string;
  settings: () => DeskSettings;
}

/** The outcome of the newest scan, shown large and read out by screen readers. */
export interface Result {
  kind: Kind;
  text: string;
  /** Increases with every result, so that a repeated text is read out again. */
  number: number;
}
