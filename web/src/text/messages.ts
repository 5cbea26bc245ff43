/*
 * Texts of the desk in the language of who works at it. A message may contain {names}; one that depends on a number
 * exists as name_one, name_other … for the plural categories of its language.
 */
import en from './en.json';

export type MessageKey = keyof typeof en;
export type MessageValues = Record<string, string | number>;
/** Names of messages without the plural category. */
export type PluralKey = { [K in MessageKey]: K extends `${infer Name}_other` ? Name : never }[MessageKey];

/** Languages with a message file, each by its own name. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof LANGUAGES;

const RIGHT_TO_LEFT = new Set(['ar', 'fa', 'he', 'ur']);

let texts: Record<string, string> = en;
let language: Language = 'en';
let plurals = new Intl.PluralRules('en');

export function currentLanguage(): Language {
  return language;
}

export function isLanguage(text: string): text is Language {
  return text in LANGUAGES;
}

/** The first of the browser's languages that has a message file. */
export function preferredLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const base = tag.split('-')[0] ?? '';
    if (isLanguage(base)) return base;
  }
  return 'en';
}

export async function loadLanguage(wanted: Language): Promise<void> {
  texts = wanted === 'en' ? en : (await import('./de.json')).default;
  language = wanted;
  plurals = new Intl.PluralRules(wanted);
  document.documentElement.lang = wanted;
  document.documentElement.dir = RIGHT_TO_LEFT.has(wanted) ? 'rtl' : 'ltr';
}

export function t(key: MessageKey, values: MessageValues = {}): string {
  return filled(texts[key] ?? en[key], values);
}

/** The message for a number, which stands in it as {count}. */
export function tn(key: PluralKey, count: number, values: MessageValues = {}): string {
  const text = texts[`${key}_${plurals.select(count)}`] ?? texts[`${key}_other`] ?? key;
  return filled(text, { count, ...values });
}

function filled(text: string, values: MessageValues): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
