import { describe, expect, it } from 'vitest';
import de from './de.json';
import en from './en.json';

const placeholders = (text: string) => [...text.matchAll(/(?<!\{)\{(\w+)\}/g)].map((match) => match[1]).sort();

describe.each([['de', de as Record<string, string>]])('the messages in %s', (_, messages) => {
  it('are complete', () => {
    expect(Object.keys(messages).sort()).toEqual(Object.keys(en).sort());
  });
  it('keep the values of each message', () => {
    for (const [key, text] of Object.entries(en)) expect([key, placeholders(messages[key] ?? '')]).toEqual([key, placeholders(text)]);
  });
});
