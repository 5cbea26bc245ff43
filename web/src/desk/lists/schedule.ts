/* How often a list is refreshed without anybody asking. */
import { t } from '../../text/messages.ts';

const HOUR = 3_600;
/** The intervals on offer, in seconds; 0 is never. */
const OFFERED = [0, HOUR, 24 * HOUR, 7 * 24 * HOUR];

/** An interval in words. */
export function intervalInWords(seconds: number): string {
  switch (seconds) {
    case 0:
      return t('lists.every.never');
    case HOUR:
      return t('lists.every.hour');
    case 24 * HOUR:
      return t('lists.every.day');
    case 7 * 24 * HOUR:
      return t('lists.every.week');
    default:
      return t('lists.every.minutes', { minutes: Math.round(seconds / 60) });
  }
}

/** The choices, with the present one if another program has set it. */
export function intervalChoices(present: number): { value: string; label: string }[] {
  const all = OFFERED.includes(present) ? OFFERED : [...OFFERED, present].sort((one, other) => one - other);
  return all.map((seconds) => ({ value: String(seconds), label: intervalInWords(seconds) }));
}
