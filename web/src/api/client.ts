/*
 * HTTP calls to the server. Tokens are cookies that scripts cannot read. An expired access token is renewed once, by
 * one call on behalf of all waiting calls; then each call is sent again.
 */
import { Failure, type Refusal, Unreachable } from './failure.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Sends this one call with the token of another user, for instance a supervisor. */
  token?: string | undefined;
  headers?: Record<string, string>;
}

let tenant = '';
let whenLoggedOut: () => Promise<boolean> = () => Promise.resolve(false);
let whenReached: (reached: boolean) => void = () => {};
let refreshing: Promise<boolean> | undefined;

export function useTenant(id: string): void {
  tenant = id;
}

/**
 * Registers a function that runs when a call finds that the session has ended. It returns whether to send the call
 * again.
 */
export function onLoggedOut(listener: () => Promise<boolean>): void {
  whenLoggedOut = listener;
}

/** Registers a function that receives, after each call, whether the server responded. */
export function onReached(listener: (reached: boolean) => void): void {
  whenReached = listener;
}

export async function get<T>(path: string, options?: CallOptions): Promise<T> {
  return call<T>('GET', path, undefined, options);
}
export async function post<T = void>(path: string, body: unknown, options?: CallOptions): Promise<T> {
  return call<T>('POST', path, body, options);
}
/** Sends a file as it is. */
export async function postFile<T>(path: string, file: Blob): Promise<T> {
  return call<T>('POST', path, file);
}
export async function put<T = void>(path: string, body: unknown): Promise<T> {
  return call<T>('PUT', path, body);
}
export async function remove(path: string): Promise<void> {
  return call('DELETE', path);
}

async function call<T>(method: Method, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
  let response = await send(method, path, body, options);
  if (response.status === 401 && options.token === undefined && !path.startsWith('/authn/login')) {
    if (await refresh()) response = await send(method, path, body, options);
    if (response.status === 401 && (await whenLoggedOut())) response = await send(method, path, body, options);
  }
  if (!response.ok) throw await failureOf(response);
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  if (text === '') return undefined as T;
  const isJson = (response.headers.get('content-type') ?? 'json').includes('json');
  return (isJson ? JSON.parse(text) : text) as T;
}

async function send(method: Method, path: string, body: unknown, options: CallOptions): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json, text/plain', ...options.headers };
  if (tenant !== '') headers['X-Okapi-Tenant'] = tenant;
  const file = body instanceof Blob ? body : undefined;
  if (body !== undefined) headers['Content-Type'] = file ? 'application/octet-stream' : 'application/json';
  if (options.token !== undefined) headers['X-Okapi-Token'] = options.token;
  try {
    const response = await fetch(path, {
      method,
      headers,
      body: file ?? (body === undefined ? null : JSON.stringify(body)),
      credentials: options.token === undefined ? 'same-origin' : 'omit',
      signal: options.signal ?? null,
      cache: 'no-store',
    });
    whenReached(true);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    whenReached(false);
    throw new Unreachable('The server does not answer.');
  }
}

/** Renews the access token; false where the session has ended. */
export function refresh(): Promise<boolean> {
  refreshing ??= send('POST', '/authn/refresh', undefined, {})
    .then((response) => response.ok)
    .finally(() => {
      refreshing = undefined;
    });
  return refreshing;
}

/** Logs another user in and returns the token; the cookies of the current user do not change. */
export async function tokenOf(username: string, password: string): Promise<string> {
  const response = await fetch('/authn/login', {
    method: 'POST',
    headers: { 'X-Okapi-Tenant': tenant, 'Content-Type': 'application/json' },
    body: JSON.stringify({ username, password }),
    credentials: 'omit',
  });
  if (!response.ok) throw await failureOf(response);
  return response.headers.get('x-okapi-token') ?? '';
}

async function failureOf(response: Response): Promise<Failure> {
  const requestId = response.headers.get('x-okapi-request-id') ?? '';
  const text = await response.text();
  let refusals: Refusal[] = [];
  let message = text.trim();
  let body: unknown;
  if ((response.headers.get('content-type') ?? '').includes('json')) {
    try {
      body = JSON.parse(text);
      const document = body as { errors?: Partial<Refusal>[]; message?: string; errorMessage?: string };
      refusals = (document.errors ?? []).map((error) => ({
        ...error,
        message: error.message ?? '',
        parameters: error.parameters ?? [],
      }));
      message = refusals.map((refusal) => refusal.message).join('\n') || document.message || document.errorMessage || message;
    } catch {
      // Not JSON: show the text itself.
    }
  }
  return new Failure(response.status, message || `HTTP ${response.status}`, refusals, requestId, body);
}

/** A CQL value with quotes, in which nothing is a wildcard. */
export function quoted(value: string): string {
  return `"${value.replace(/[\\"*?^]/g, (letter) => `\\${letter}`)}"`;
}

/** A query string from the parameters that have a value. */
export function withQuery(path: string, parameters: Record<string, string | number | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}
