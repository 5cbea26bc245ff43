/* A person at the desk, for tests: a browser, and a client of the API that prepares what the person finds. */
import { existsSync, mkdirSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

export const TENANT = 'diku';
export const ADMIN = 'diku_admin';
export const PASSWORD = 'admin';
export const SERVICE_POINT = '3a40852d-49fd-4df2-a1f9-6e2641a6e91f';

export const address = (): string => process.env.CARREL_DESK_ADDRESS ?? 'http://127.0.0.1:9130';

export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!executablePath) throw new Error("Chromium is missing: install it, on Debian with 'apt-get install chromium', or name it in CHROMIUM");
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
}

export interface Desk {
  page: Page;
  context: BrowserContext;
  /** Errors of the page itself, which fail the test that looks at them. */
  errors: string[];
}

/** A new browser window at the login page. */
export async function openDesk(browser: Browser, size = { width: 1280, height: 720 }): Promise<Desk> {
  const context = await browser.newContext({ viewport: size, locale: 'en-US' });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // The browser itself reports answers like 401 and 422, which are part of the desk's work.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) errors.push(message.text());
  });
  // Paper is not needed: what would be printed is counted.
  await page.addInitScript(() => {
    const counted = window as unknown as { prints: string[] };
    counted.prints = [];
    window.print = () => {
      counted.prints.push(document.getElementById('print')?.textContent ?? '');
      window.dispatchEvent(new Event('afterprint'));
    };
  });
  await page.goto(`${address()}/desk/`);
  return { page, context, errors };
}

/** Logs in by keyboard. */
export async function logIn(page: Page, username = ADMIN, password = PASSWORD): Promise<void> {
  await page.getByLabel('Tenant').fill(TENANT);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

const KEY_MS = 4;

/** What a barcode reader does: characters and Enter a few milliseconds apart, wherever the focus is. */
export async function scan(page: Page, barcode: string): Promise<void> {
  const reader = await page.context().newCDPSession(page);
  const start = Date.now() / 1000;
  const keys = [...barcode].map((key) => ({ key, text: key }));
  await Promise.all(
    [...keys, { key: 'Enter', text: '\r' }].flatMap(({ key, text }, index) => {
      const timestamp = start + (index * KEY_MS) / 1000;
      const code = key === 'Enter' ? { code: 'Enter', windowsVirtualKeyCode: 13 } : {};
      return [
        reader.send('Input.dispatchKeyEvent', { type: 'keyDown', key, text, timestamp, ...code }),
        reader.send('Input.dispatchKeyEvent', { type: 'keyUp', key, timestamp, ...code }),
      ];
    }),
  );
  await reader.detach();
}

export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.CARREL_SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
}

interface Shelved {
  barcode: string;
  permanentLoanType: { name: string };
  effectiveLocation: { id: string };
  circulationNotes: unknown[];
  numberOfPieces?: string;
}

/** Calls of the API in the name of the administrator. */
export class Api {
  readonly #token: string;

  private constructor(token: string) {
    this.#token = token;
  }

  static async logIn(): Promise<Api> {
    const response = await fetch(`${address()}/authn/login`, {
      method: 'POST',
      headers: { 'X-Okapi-Tenant': TENANT, 'Content-Type': 'application/json' },
      body: JSON.stringify({ username: ADMIN, password: PASSWORD }),
    });
    return new Api(response.headers.get('x-okapi-token') ?? '');
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${address()}${path}`, {
      method,
      headers: { 'X-Okapi-Token': this.#token, 'Content-Type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  get = <T>(path: string) => this.call<T>('GET', path);
  post = <T>(path: string, body: unknown) => this.call<T>('POST', path, body);
  put = (path: string, body: unknown) => this.call<void>('PUT', path, body);

  /** Barcodes of items that lie on the shelf of the service point, have no notes and may be lent. */
  async availableItems(count: number): Promise<string[]> {
    const query = encodeURIComponent('status.name=="Available" and materialTypeId=="*" sortby barcode');
    const { locations } = await this.get<{ locations: { id: string; servicePointIds: string[] }[] }>('/locations?limit=1000');
    const here = new Set(locations.filter((location) => location.servicePointIds.includes(SERVICE_POINT)).map((location) => location.id));
    const found = await this.get<{ items: Shelved[] }>(`/inventory/items?limit=2000&query=${query}`);
    const lendable = found.items.filter(
      (item) => item.permanentLoanType.name === 'Can circulate' && item.circulationNotes.length === 0 && !item.numberOfPieces && here.has(item.effectiveLocation.id),
    );
    if (lendable.length < count) throw new Error(`only ${lendable.length} items can be lent`);
    return lendable.slice(-count).map((item) => item.barcode);
  }

  async itemByBarcode(barcode: string): Promise<Record<string, unknown> & { id: string }> {
    const { items } = await this.get<{ items: (Record<string, unknown> & { id: string })[] }>(`/inventory/items?query=barcode==${barcode}`);
    const item = items[0];
    if (!item) throw new Error(`no item ${barcode}`);
    return item;
  }

  async changeItem(barcode: string, change: Record<string, unknown>): Promise<void> {
    const item = await this.itemByBarcode(barcode);
    await this.put(`/inventory/items/${item.id}`, { ...item, ...change });
  }

  /** A patron of the test's own, who may borrow. */
  async newPatron(lastName: string): Promise<{ id: string; barcode: string }> {
    const { usergroups } = await this.get<{ usergroups: { id: string; group: string }[] }>('/groups?limit=100');
    const id = crypto.randomUUID();
    const barcode = `29${Math.floor(Math.random() * 1e10)}`;
    await this.post('/users', {
      id,
      username: `test-${barcode}`,
      barcode,
      active: true,
      type: 'patron',
      patronGroup: usergroups.find((group) => group.group === 'faculty')?.id ?? usergroups[0]?.id,
      personal: { lastName, firstName: 'Test', preferredContactTypeId: '002', email: 'test@example.org' },
    });
    return { id, barcode };
  }
}
