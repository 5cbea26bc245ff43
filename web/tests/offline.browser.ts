/* The desk goes on while the server cannot be reached, and brings everything to it afterwards. */
import { createServer, request as forward, type Server } from 'node:http';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessibilityProblems } from './axe.ts';
import { address, Api, logIn, openBrowser, openDesk, scan, screenshot } from './desk.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

/** A way to the server that can be cut: connections are refused then, as from a machine whose server has died. */
class Way {
  #server: Server | undefined;
  port = 0;

  async open(): Promise<void> {
    const target = new URL(address());
    const server = createServer((incoming, outgoing) => {
      const options = { host: target.hostname, port: target.port, path: incoming.url ?? '/', method: incoming.method ?? 'GET', headers: incoming.headers };
      const onward = forward(options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    const bound = server.address();
    if (bound && typeof bound === 'object') this.port = bound.port;
    this.#server = server;
  }

  async cut(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }
}

it('keeps scans over a restart of the browser, uploads each once and shows exceptions', async () => {
  const patron = await api.newPatron('Offline');
  const other = await api.newPatron('Other');
  const blocked = await api.newPatron('Blocked');
  await api.post('/manualblocks', { type: 'Manual', desc: 'test', userId: blocked.id, borrowing: true, renewals: false, requests: false });
  const [first = '', second = '', returned = ''] = await api.availableItems(3);
  await api.post('/circulation/check-out-by-barcode', { itemBarcode: returned, userBarcode: other.barcode, servicePointId: '3a40852d-49fd-4df2-a1f9-6e2641a6e91f' });
  const way = new Way();
  await way.open();
  const { page, context, errors } = await openDesk(browser);
  await page.goto(`http://127.0.0.1:${way.port}/desk/`);
  await logIn(page);
  // The worker has the files of the desk.
  await expect.poll(() => page.evaluate(async () => (await caches.open('desk-files')).keys().then((keys) => keys.filter((key) => /OfflinePage/.test(key.url)).length)), { timeout: 20_000 }).toBe(1);

  await way.cut();
  await scan(page, patron.barcode);
  await page.getByRole('link', { name: 'Work offline' }).click();
  await page.getByRole('heading', { name: 'Offline' }).waitFor();
  await scan(page, blocked.barcode);
  await page.getByRole('alert').getByText(`${blocked.barcode} may not borrow`).waitFor();
  await scan(page, patron.barcode);
  await page.getByText(`Card ${patron.barcode}`).waitFor();
  await scan(page, first);
  await scan(page, 'unknown-item');
  await expect.poll(() => page.locator('[data-offline=waiting]').count()).toBe(2);

  // The page is closed and opened again while the server is still gone.
  await page.reload();
  await page.getByRole('heading', { name: 'Offline' }).waitFor();
  await expect.poll(() => page.locator('[data-offline=waiting]').count()).toBe(2);
  await scan(page, patron.barcode);
  await page.getByText(`Card ${patron.barcode}`).waitFor();
  await scan(page, second);
  await expect.poll(() => page.locator('[data-offline=waiting]').count()).toBe(3);
  await page.getByRole('button', { name: 'Check in' }).first().click();
  await scan(page, returned);
  await expect.poll(() => page.locator('[data-offline=waiting]').count()).toBe(4);
  await screenshot(page, 'offline');
  expect(await accessibilityProblems(page)).toEqual([]);

  // The server is back; the answer to one upload is lost, so that it is repeated.
  await way.open();
  await page.reload();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await page.evaluate(() => (location.hash = '#/offline'));
  let lost = 0;
  await page.route('**/circulation/check-out-by-barcode', async (route) => {
    if (lost > 0) return route.continue();
    lost += 1;
    await route.fetch();
    await route.abort();
  });
  const uploadButton = page.getByRole('button', { name: /^Upload/ });
  await uploadButton.click();
  await page.getByRole('alert').getByText('The server does not answer').first().waitFor();
  await expect.poll(() => page.getByText('The server answers.').count(), { timeout: 10_000 }).toBe(1);
  await uploadButton.click();
  await expect.poll(() => page.locator('[data-offline=uploaded]').count()).toBe(3);
  await page.getByRole('heading', { name: '1 exception' }).waitFor();
  await screenshot(page, 'offline-uploaded');
  const loans = await api.get<{ totalRecords: number }>(`/circulation/loans?limit=0&query=userId==${patron.id}`);
  expect(loans.totalRecords).toBe(2);
  const left = await api.get<{ totalRecords: number }>(`/circulation/loans?limit=0&query=userId==${other.id} and status.name==Open`);
  expect(left.totalRecords).toBe(0);
  await page.getByRole('button', { name: 'Skip' }).click();
  await expect.poll(() => page.locator('[data-offline=exception]').count()).toBe(0);
  expect(errors).toEqual([]);
  await context.close();
  await way.cut();
});
