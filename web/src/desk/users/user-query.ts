/* Searches users by name, barcode and other identifiers. */
import { get, quoted, withQuery } from '../../api/client.ts';
import type { User } from '../../api/schema.ts';

const FIELDS = ['username', 'barcode', 'externalSystemId', 'personal.lastName', 'personal.firstName', 'personal.email'];

/** CQL that requires every word of the text at the start of one of the fields. */
export function userQuery(text: string, status: 'active' | 'inactive' | 'all' = 'all'): string {
  const words = text.trim().split(/[\s,]+/).filter((word) => word !== '');
  const clauses = words.map((word) => `(${FIELDS.map((field) => `${field}=${quoted(word).slice(0, -1)}*"`).join(' or ')})`);
  if (status !== 'all') clauses.push(`active==${status === 'active' ? 'true' : 'false'}`);
  return `${clauses.length === 0 ? 'cql.allRecords=1' : clauses.join(' and ')} sortby personal.lastName personal.firstName`;
}

export function searchUsers(text: string, status: 'active' | 'inactive' | 'all', limit: number, offset = 0, signal?: AbortSignal) {
  const path = withQuery('/users', { query: userQuery(text, status), limit, offset });
  return get<{ users: User[]; totalRecords: number }>(path, { signal });
}
