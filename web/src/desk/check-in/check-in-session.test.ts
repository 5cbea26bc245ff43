import { afterEach, expect, it, vi } from 'vitest';
import { type CheckInTools, CheckInSession } from './check-in-session.ts';

/** Tools that collect what waits for an idle browser. */
const tools = (later: (() => void)[] = []): CheckInTools => ({
  ask: () => Promise.resolve(undefined),
  sound: () => {},
  whenIdle: (run) => later.push(run),
  checksDigits: () => false,
  may: () => true,
  servicePointId: () => 'desk',
  useAtLocationReturn: () => 'Ask_for_action',
  username: () => 'staff',
  settings: () => ({ patronIdentifiers: ['barcode'], wildcardLookup: false, audioAlerts: false, audioTheme: '', timeoutMinutes: undefined, titleLevelRequests: false, titleLevelByDefault: false, printLog: false }),
  printSlip: () => {},
  printByDefault: () => false,
});

/** A server that takes every item back; returns the paths of the calls. */
function serve(): string[] {
  const paths: string[] = [];
  vi.stubGlobal('fetch', async (path: string) => {
    paths.push(path.split('?')[0] ?? '');
    const item = { id: 'i1', title: 'Nod', status: { name: 'Available' } };
    const answer = path.startsWith('/accounts') ? { accounts: [{ id: 'a1', remaining: 2.5 }] } : { item, inHouseUse: false, loan: { id: 'l1', userId: 'u1', item } };
    return new Response(JSON.stringify(answer), { headers: { 'Content-Type': 'application/json' } });
  });
  return paths;
}

afterEach(() => vi.unstubAllGlobals());

it('the call of a scan begins before anything is awaited or drawn', () => {
  const paths = serve();
  const session = new CheckInSession(tools());
  let wasDrawn = false;
  session.store.subscribe(() => (wasDrawn = true));
  session.scan('first');
  expect([paths, wasDrawn]).toEqual([['/circulation/check-in-by-barcode'], false]);
});

it('fees are looked for when the browser is idle, so that they do not delay the row', async () => {
  const paths = serve();
  const later: (() => void)[] = [];
  const session = new CheckInSession(tools(later));
  session.scan('first');
  await vi.waitFor(() => expect(session.store.state.rows[0]?.state).toBe('done'));
  expect(paths).toEqual(['/circulation/check-in-by-barcode']);
  for (const run of later) run();
  await vi.waitFor(() => expect(session.store.state.rows[0]?.owed).toBe(2.5));
  expect(paths).toEqual(['/circulation/check-in-by-barcode', '/accounts']);
});
