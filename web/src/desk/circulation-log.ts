/* The circulation log of mod-audit. */
import { get, withQuery } from '../api/client.ts';

export interface LogRecord {
  id: string;
  date: string;
  object: string;
  action: string;
  description?: string;
  source?: string;
  servicePointId?: string;
  items?: { itemId?: string }[];
  linkToIds?: { userId?: string };
}

interface Page {
  query: string;
  limit: number;
  offset: number;
}

/** A page of the entries that match. */
export function circulationLog(page: Page, options?: { signal?: AbortSignal }): Promise<{ logRecords: LogRecord[]; totalRecords: number }> {
  return get(withQuery('/audit-data/circulation/logs', { ...page }), options);
}
