/* Which page is shown: the part of the address behind `#`, so that the server needs to know one address only. */
import { useSyncExternalStore } from 'react';

export interface Route {
  page: string;
  /** What follows the page's name, for instance an id. */
  rest: string[];
  search: URLSearchParams;
}

let cached: { hash: string; route: Route } | undefined;

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [page = '', ...rest] = path.split('/').map(decodeURIComponent);
  return { page: page === '' ? 'check-out' : page, rest: rest.filter((part) => part !== ''), search: new URLSearchParams(query) };
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, () => {
    const hash = window.location.hash;
    if (cached?.hash !== hash) cached = { hash, route: parseRoute(hash) };
    return cached.route;
  });
}

/** The address of a page, for links. */
export function to(page: string, ...rest: string[]): string {
  return `#/${[page, ...rest].map(encodeURIComponent).join('/')}`;
}

export function go(page: string, ...rest: string[]): void {
  window.location.hash = to(page, ...rest);
}

/** Changes the search part of the address without a new entry in the browser's history. */
export function replaceSearch(search: Record<string, string>): void {
  const [path = ''] = window.location.hash.split('?', 1);
  const text = new URLSearchParams(Object.entries(search).filter(([, value]) => value !== '')).toString();
  window.history.replaceState(null, '', text === '' ? path || '#/' : `${path}?${text}`);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}
