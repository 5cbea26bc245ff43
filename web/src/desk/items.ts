import type { CallNumberComponents } from '../api/bodies.ts';

export function callNumber(parts: CallNumberComponents | undefined, plain?: string | null): string {
  const text = [parts?.prefix, parts?.callNumber, parts?.suffix].filter(Boolean).join(' ');
  return text || plain || '';
}
