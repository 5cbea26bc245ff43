/* Keys that come while a page is drawn or changed: each arrives in the barcode field, in its order. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api, logIn, openBrowser, openDesk, SERVICE_POINT } from './desk.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

/** Types as a person does, too slowly for a barcode reader, and waits for nothing on the page. */
class Typist {
  keys = 0;
  constructor(readonly page: Page) {}

  async press(key: string): Promise<void> {
    this.keys += 1;
    await this.page.keyboard.press(key);
    // Longer than a reader pauses, so that no barcode is recognized by its speed.
    await this.page.waitForTimeout(70);
  }

  async type(text: string): Promise<void> {
    for (const key of text) await this.press(key);
    await this.press('Enter');
  }
}

const barcodes = (page: Page) => page.locator('tr.row').evaluateAll((rows) => rows.map((row) => row.querySelector('.digits')?.textContent ?? '').reverse());

/** Holds calls and files up, so that many keys come while the page waits for them. */
async function slowDown(page: Page): Promise<void> {
  for (const [paths, ms] of [['**/circulation/check-*', 150], ['**/users?*', 300], ['**/desk/assets/**', 400]] as const) {
    await page.route(paths, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      await route.continue();
    });
  }
}

it('two hundred keys through changes of the page arrive without loss', async () => {
  const patron = await api.newPatron('Typed');
  const items = await api.availableItems(12);
  const [noted = ''] = items;
  const all = (count: number) => expect.poll(() => barcodes(page), { timeout: 30_000 }).toEqual(items.slice(0, count));
  await api.changeItem(noted, { circulationNotes: [{ id: crypto.randomUUID(), noteType: 'Check out', note: 'Fragile', staffOnly: true }] });
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await slowDown(page);
  const typist = new Typist(page);

  // The items come right behind the card, while the patron is looked up; a dialog opens in the middle of them.
  await typist.type(patron.barcode);
  for (const item of items.slice(0, 4)) await typist.type(item);
  await page.getByRole('dialog', { name: 'Check-out note' }).waitFor();
  await page.waitForTimeout(1_200);
  await page.keyboard.press('Enter');
  await all(4);
  await expect.poll(() => page.locator('tr.row.done').count()).toBe(4);

  // To the other desk, with keys right behind the hotkey.
  await page.keyboard.press('Alt+r');
  for (const item of items.slice(0, 4)) await typist.type(item);
  await all(4);
  await expect.poll(() => page.locator('tr.row.done').count()).toBe(4);

  // A page that is loaded first has no barcode field, and takes no keys from the desk that comes after it.
  await page.keyboard.press('Alt+u');
  await page.getByRole('link', { name: 'Requests' }).first().click();
  await page.keyboard.press('Alt+u');
  for (const item of items.slice(4, 8)) await typist.type(item);
  await all(8);

  // The focus is on a button, and then on nothing.
  await page.getByRole('button', { name: /Look up a patron/ }).focus();
  for (const item of items.slice(8, 10)) await typist.type(item);
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  for (const item of items.slice(10)) await typist.type(item);
  await all(12);
  await expect.poll(() => page.locator('tr.row.done').count()).toBe(12);
  expect(typist.keys).toBeGreaterThan(200);
  expect(errors).toEqual([]);
  await context.close();
});

it('a click counts though what is clicked changes while the button is down', async () => {
  const patron = await api.newPatron('Clicked');
  const [barcode = ''] = await api.availableItems(1);
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await page.evaluate(() => (location.hash = '#/dashboards/circulation'));
  await page.getByText(/^Live, as of/).waitFor();
  const tile = page.getByRole('link', { name: /^[\d,.]+ ?Check-outs/ });
  const before = await tile.textContent();
  await tile.hover();
  await page.mouse.down();
  await api.post('/circulation/check-out-by-barcode', { itemBarcode: barcode, userBarcode: patron.barcode, servicePointId: SERVICE_POINT });
  await expect.poll(() => tile.textContent()).not.toBe(before);
  await page.mouse.up();
  await page.getByRole('heading', { name: 'Check-outs of today' }).waitFor();
  expect(errors).toEqual([]);
  await context.close();
});
