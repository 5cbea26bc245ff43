/* Highlighting of the circulation rules' language. Only the server validates the text. */

export interface Token {
  kind: 'comment' | 'keyword' | 'criterion' | 'policy' | 'id' | 'plain';
  text: string;
}

const CRITERIA = new Set(['t', 'a', 'b', 'c', 's', 'm', 'g']);
const POLICIES = new Set(['l', 'r', 'n', 'o', 'i']);

/** A line as tokens; concatenated they are the line. */
export function tokens(line: string): Token[] {
  const comment = /[#/]/.exec(line);
  const code = comment ? line.slice(0, comment.index) : line;
  const header = /^\s*(priority|fallback-policy)\s*:/.exec(code);
  const found: Token[] = [];
  let behindColon = false;
  for (const [text] of code.matchAll(/\s+|[:+,!()]|[^\s:+,!()]+/g)) {
    if (text === ':') behindColon = true;
    found.push({ kind: kindOf(text, behindColon, header?.[1]), text });
  }
  if (comment) found.push({ kind: 'comment', text: line.slice(comment.index) });
  return found;
}

function kindOf(text: string, behindColon: boolean, header: string | undefined): Token['kind'] {
  if (text === header || text === 'all' || text === 'criterium' || /^(first|last)-line$|^number-of-criteria$/.test(text)) return 'keyword';
  if (!behindColon && CRITERIA.has(text)) return 'criterion';
  if (behindColon && header === 'priority' && CRITERIA.has(text)) return 'criterion';
  if (behindColon && POLICIES.has(text)) return 'policy';
  if (/^[0-9a-zA-Z-]{8,}$/.test(text)) return 'id';
  return 'plain';
}

/** The ids in a line, in order. */
export function idsOf(line: string): string[] {
  return tokens(line)
    .filter((token) => token.kind === 'id')
    .map((token) => token.text);
}
