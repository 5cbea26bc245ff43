import { describe, expect, it } from 'vitest';
import settingsDe from '../desk/settings/texts/de.json';
import settingsEn from '../desk/settings/texts/en.json';
import mainAr from './ar.json';
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

describe('the messages in Arabic', () => {
  const ar: Record<string, string> = mainAr;
  const nameOf = (key: string) => key.replace(/_(zero|one|two|few|many|other)$/, '');
  const names = new Set(Object.keys(en).map(nameOf));
  const known = new Set(Object.keys(ar).map(nameOf));

  it('are complete for both scanning desks', () => {
    const desks = /^(checkOut|checkIn|checkDigit|scan|row|rows|patron|confirmStatus|claimedReturned|pieces|itemNotes|chooseItem|fastAdd|refused|override|dueDate|actingAs|patronNotes|switchPatron|findUser|sendOn|slip|receipt|loan|useAtLocation|help|hotkey|servicePoint|person|page)\./;
    expect([...names].filter((name) => desks.test(name) && !known.has(name))).toEqual([]);
  });
  it('are messages that exist in English, with values that exist there', () => {
    expect([...known].filter((name) => !names.has(name))).toEqual([]);
    for (const [key, text] of Object.entries(ar)) {
      const values = placeholders(en[key] ?? en[`${nameOf(key)}_other`] ?? '');
      // The singular and the dual say the number in words.
      const isNumbered = /_(zero|one|two)$/.test(key);
      for (const name of placeholders(text)) expect([key, values]).toEqual([key, expect.arrayContaining([name])]);
      if (!isNumbered) expect([key, placeholders(text)]).toEqual([key, values]);
    }
  });
});
