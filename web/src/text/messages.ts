/*
 * Texts of the desk in the user's language. A message may contain {names}; a message with a number exists as name_one,
 * name_other … for the plural categories of its language. A message that a language lacks is shown in English.
 */
import type settings from '../desk/settings/texts/en.json';
import en from './en.json';

/** Keys of the messages that are always loaded, and of those of the settings pages, which are loaded with them. */
export type MessageKey = keyof typeof en | keyof typeof settings;
export type MessageValues = Record<string, string | number>;
/** Names of messages without the plural category. */
export type PluralKey = { [K in MessageKey]: K extends `${infer Name}_other` ? Name : never }[MessageKey];

/** Languages with a message file, each in its own language. */
export const LANGUAGES = { en: 'English', de: 'Deutsch', ar: 'العربية' } as const;
export type Language = keyof typeof LANGUAGES;

const RIGHT_TO_LEFT = new Set(['ar', 'fa', 'he', 'ur']);

type Load = () => Promise<{ default: Record<string, string> }>;

/** The files of the languages other than English, which is always loaded. */
const FILES: Record<Exclude<Language, 'en'>, Load> = { de: () => import('./de.json'), ar: () => import('./ar.json') };

/** Messages of a part of the desk, by language; those that are missing are shown in English. */
export type Texts = { en: Load } & Partial<Record<Language, Load>>;

const parts = new Set<Texts>();
let english: Record<string, string> = en;
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

/** Adds the messages of a part of the desk before it is shown. */
export async function addTexts(part: Texts): Promise<void> {
  parts.add(part);
  await loadLanguage(language);
}

export async function loadLanguage(wanted: Language): Promise<void> {
  const load = async (one: Language) => Object.assign({}, ...(await Promise.all([...parts].map(async (part) => (await part[one]?.())?.default)))) as Record<string, string>;
  english = { ...en, ...(await load('en')) };
  texts = wanted === 'en' ? english : { ...(await FILES[wanted]()).default, ...(await load(wanted)) };
  language = wanted;
  plurals = new Intl.PluralRules(wanted);
  document.documentElement.lang = wanted;
  document.documentElement.dir = RIGHT_TO_LEFT.has(wanted) ? 'rtl' : 'ltr';
}

export function t(key: MessageKey, values: MessageValues = {}): string {
  return filled(texts[key] ?? english[key] ?? key, values);
}

/** Whether a message with this name exists, for names derived from API values. */
export function hasText(key: string): key is MessageKey {
  return key in english;
}

/** The message for a number, which it contains as {count}. */
export function tn(key: PluralKey, count: number, values: MessageValues = {}): string {
  const text = texts[`${key}_${plurals.select(count)}`] ?? texts[`${key}_other`] ?? english[`${key}_${count === 1 ? 'one' : 'other'}`] ?? key;
  return filled(text, { count, ...values });
}

function filled(text: string, values: MessageValues): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
