/* The current page: the part of the address after `#`, so that the server serves one address only. */
import { useSyncExternalStore } from 'react';

export interface Route {
  page: string;
  /** The part after the page's name, for instance an id. */
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
  goTo(to(page, ...rest));
}

/** Opens the address immediately: the browser's event arrives later than keys typed meanwhile. */
export function goTo(address: string): void {
  window.location.hash = address;
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

document.addEventListener('click', (event) => {
  const isPlain = event.button === 0 && !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  const address = event.target instanceof Element ? event.target.closest('a[href^="#/"]')?.getAttribute('href') : null;
  if (!address || !isPlain || event.defaultPrevented) return;
  event.preventDefault();
  goTo(address);
});

/** Changes the search part of the address without a new entry in the browser's history. */
export function replaceSearch(search: Record<string, string>): void {
  const [path = ''] = window.location.hash.split('?', 1);
  const text = new URLSearchParams(Object.entries(search).filter(([, value]) => value !== '')).toString();
  window.history.replaceState(null, '', text === '' ? path || '#/' : `${path}?${text}`);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}
