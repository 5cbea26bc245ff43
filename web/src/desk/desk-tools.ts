/* What scanning logic needs of its surroundings; a test gives it something else than a browser. */
import type { Kind } from '../parts/controls.tsx';
import type { DeskSettings } from '../session/settings.ts';
import type { Ask } from './prompts.ts';

export interface DeskTools {
  ask: Ask;
  /** Makes the sound of a result, where sounds are on. */
  sound: (kind: Kind) => void;
  may: (permission: string) => boolean;
  servicePointId: () => string;
  /** What is done with returned items that are lent for use at the location; by default staff are asked. */
  useAtLocationReturn: () => string;
  /** Who works at the desk. */
  username: () => string;
  settings: () => DeskSettings;
}

/** The outcome of the newest scan, which is shown large and read out. */
export interface Result {
  kind: Kind;
  text: string;
  /** Grows with every result, so that the same text twice is read out twice. */
  number: number;
}
