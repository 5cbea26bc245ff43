import { describe, expect, it } from 'vitest';
import { idsOf, tokens } from './rules-text.ts';

const LINE = 'm 1a54b431-2e4f-452d-9cae-9cee66c9a892 + t all: l 4966acd3-40f0-564a-bb6e-ab44be5430c9 # books';

describe('a line of the rules', () => {
  it('is the same text again when its pieces are joined', () => {
    for (const line of [LINE, '', '    ', 'priority: criterium(t, s, c, b, a, m, g), last-line', '/ comment']) {
      expect(tokens(line).map((token) => token.text).join('')).toBe(line);
    }
  });
  it('tells criteria from policies by the colon', () => {
    const kinds = tokens(LINE).filter((token) => /^[a-z]$/.test(token.text)).map((token) => `${token.text} ${token.kind}`);
    expect(kinds).toEqual(['m criterion', 't criterion', 'l policy']);
  });
  it('names its ids but not those in comments', () => {
    expect(idsOf(`${LINE} 00000000-dead-beef`)).toHaveLength(2);
  });
});
