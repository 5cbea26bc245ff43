import { describe, expect, it } from 'vitest';
import settingsDe from '../desk/settings/texts/de.json';
import settingsEn from '../desk/settings/texts/en.json';
import mainDe from './de.json';
import mainEn from './en.json';

const en: Record<string, string> = { ...mainEn, ...settingsEn };
const de: Record<string, string> = { ...mainDe, ...settingsDe };

const placeholders = (text: string) => [...text.matchAll(/(?<!\{)\{(\w+)\}/g)].map((match) => match[1]).sort();

describe.each([['de', de]])('the messages in %s', (_, messages) => {
  it('are complete', () => {
    expect(Object.keys(messages).sort()).toEqual(Object.keys(en).sort());
  });
  it('keep the values of each message', () => {
    for (const [key, text] of Object.entries(en)) expect([key, placeholders(messages[key] ?? '')]).toEqual([key, placeholders(text)]);
  });
});
