import { afterEach, describe, expect, it, vi } from 'vitest';
import type { DeskTools } from '../desk-tools.ts';
import { CheckOutSession } from './check-out-session.ts';

const USER = { id: 'u1', username: 'ada', barcode: 'card', active: true, personal: { lastName: 'Ada' } };

const TOOLS: DeskTools = {
  ask: () => Promise.resolve(undefined),
  sound: () => {},
  whenIdle: (run) => run(),
  checksDigits: () => false,
  may: () => true,
  servicePointId: () => 'desk',
  useAtLocationReturn: () => 'Ask_for_action',
  username: () => 'staff',
  settings: () => ({ patronIdentifiers: ['barcode'], wildcardLookup: false, audioAlerts: false, audioTheme: '', timeoutMinutes: undefined, titleLevelRequests: false, titleLevelByDefault: false, printLog: false }),
};

/** A server whose answer about users comes when the test says so; it notes the items that are checked out. */
function serve(users: object[]): { answerUsers: () => void; lent: string[] } {
  const lent: string[] = [];
  let answerUsers = () => {};
  const asked = new Promise<void>((resolve) => (answerUsers = resolve));
  vi.stubGlobal('fetch', async (path: string, { body }: { body?: string }) => {
    const item = path === '/circulation/check-out-by-barcode' ? (JSON.parse(body ?? '{}') as { itemBarcode: string }).itemBarcode : undefined;
    if (item) lent.push(item);
    if (path.startsWith('/users?')) await asked;
    const answer = item ? { id: item, item: { barcode: item, title: item }, dueDate: '2026-12-01T00:00:00Z' } : { users, proxiesFor: [], totalRecords: 0 };
    return new Response(JSON.stringify(answer), { headers: { 'Content-Type': 'application/json' } });
  });
  return { answerUsers, lent };
}

afterEach(() => vi.unstubAllGlobals());

describe('items that are scanned while the patron is looked up', () => {
  it('wait for the patron, in their order', async () => {
    const server = serve([USER]);
    const session = new CheckOutSession(TOOLS);
    void session.scanPatron('card');
    void session.scanPatron('first');
    void session.scanPatron('second');
    // A reader that sends the card twice.
    void session.scanPatron('card');
    expect(session.store.state.rows.map((row) => [row.barcode, row.state])).toEqual([['second', 'waiting'], ['first', 'waiting']]);
    server.answerUsers();
    await vi.waitFor(() => expect(session.store.state.rows.map((row) => row.state)).toEqual(['done', 'done']));
    expect(server.lent).toEqual(['first', 'second']);
  });

  it('are refused in their rows where there is no such patron', async () => {
    const server = serve([]);
    const session = new CheckOutSession(TOOLS);
    void session.scanPatron('card');
    void session.scanPatron('first');
    server.answerUsers();
    await vi.waitFor(() => expect(session.store.state.rows.map((row) => row.state)).toEqual(['failed']));
    expect(server.lent).toEqual([]);
  });
});

describe('the call of a scan', () => {
  it('begins before anything is awaited or drawn', async () => {
    const server = serve([USER]);
    const session = new CheckOutSession(TOOLS);
    await session.usePatron(USER);
    let wasDrawn = false;
    session.store.subscribe(() => (wasDrawn = true));
    session.scanItem('first');
    expect([server.lent, wasDrawn]).toEqual([['first'], false]);
  });

  it('waits for staff where the check digit is wrong, and is not sent where they cancel', async () => {
    const server = serve([USER]);
    const session = new CheckOutSession({ ...TOOLS, checksDigits: () => true });
    await session.usePatron(USER);
    session.scanItem('39999000000016');
    session.scanItem('39999000000017');
    await vi.waitFor(() => expect(session.store.state.rows.map((row) => row.state)).toEqual(['cancelled', 'done']));
    expect(server.lent).toEqual(['39999000000016']);
  });
});
