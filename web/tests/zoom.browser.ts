/* Pages at 200 % zoom, and mirrored for languages that are written from right to left. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, type Desk, logIn, openBrowser, openDesk, screenshot } from './desk.ts';
import { overflow } from './look.ts';

let browser: Browser;
let api: Api;
let userId: string;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
  userId = (await api.newPatron('Mirrored')).id;
});
afterAll(() => browser.close());

const pages = () => [
  '#/check-out', '#/check-in', '#/requests', '#/requests/slips', '#/users', '#/users/new', '#/items', '#/lists', '#/lists/new',
  '#/dashboards/circulation', '#/dashboards/operators',
  ...['loans', 'requests', 'fees', 'blocks', 'notes', 'proxies', 'login', 'edit'].map((tab) => `#/users/${userId}/${tab}`),
];

// At 200 % zoom a screen of 1280 × 720 has half as many pixels of the page in each direction.
describe.each([
  { name: 'at 200 % zoom', direction: 'ltr', size: { width: 640, height: 360 } },
  { name: 'from right to left', direction: 'rtl', size: { width: 1280, height: 720 } },
  { name: 'from right to left on a phone', direction: 'rtl', size: { width: 390, height: 844 } },
])('$name', ({ name, direction, size }) => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await openDesk(browser, size);
    await logIn(desk.page);
    await desk.page.evaluate((wanted) => (document.documentElement.dir = wanted), direction);
  });
  afterAll(() => desk.context.close());

  it('no page is wider than the screen', async () => {
    const { page, errors } = desk;
    const wider: string[] = [];
    for (const address of pages()) {
      await page.evaluate((hash) => (location.hash = hash), address);
      await page.locator('main :is(h1, h2, h3)').first().waitFor();
      await page.waitForTimeout(250);
      const pixels = await overflow(page);
      if (pixels > 0) wider.push(`${address}: ${pixels}`);
      await screenshot(page, `${name.replace(/\W+/g, '-')}${address.replace(/\W+/g, '-')}`);
    }
    expect(wider).toEqual([]);
    expect(errors).toEqual([]);
  });
});
