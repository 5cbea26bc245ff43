/* All pages at 200 % zoom, mirrored for languages that are written from right to left, and in high contrast. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityProblems } from './axe.ts';
import { Api, type Desk, logIn, openBrowser, openDesk, screenshot } from './desk.ts';
import { overflow } from './look.ts';

let browser: Browser;
let api: Api;
let userId: string;
let itemId: string;
let requestId: string;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
  userId = (await api.newPatron('Mirrored')).id;
  const [barcode = ''] = await api.availableItems(1);
  itemId = (await api.itemByBarcode(barcode)).id;
  requestId = (await api.get<{ requests: { id: string }[] }>('/circulation/requests?limit=1&query=status=="Open*"')).requests[0]?.id ?? '';
});
afterAll(() => browser.close());

const SETTINGS = [
  'rules', 'general', 'loan-policies', 'due-date-schedules', 'request-policies', 'notice-policies', 'notice-templates', 'slips', 'owners',
  'block-limits', 'service-points', 'calendar', 'calendars', 'locations', 'patron-groups', 'permissions',
];

const pages = () => [
  '#/check-out', '#/check-in', '#/offline', '#/requests', '#/requests/slips', `#/requests/${requestId}`, '#/users', '#/users/new', '#/items',
  ...['loans', 'requests', 'notes'].map((tab) => `#/items/${itemId}/${tab}`), '#/lists', '#/lists/new', '#/dashboards/circulation',
  '#/dashboards/operators', ...['loans', 'requests', 'fees', 'blocks', 'notes', 'proxies', 'login', 'edit'].map((tab) => `#/users/${userId}/${tab}`),
  ...SETTINGS.map((page) => `#/settings/${page}`),
];

// At 200 % zoom a screen of 1280 × 720 has half as many pixels of the page in each direction.
const CIRCUMSTANCES = [
  { name: 'at 200 % zoom', direction: 'ltr', size: { width: 640, height: 360 }, media: {}, isRead: false },
  { name: 'from right to left', direction: 'rtl', size: { width: 1280, height: 720 }, media: {}, isRead: false },
  { name: 'from right to left on a phone', direction: 'rtl', size: { width: 390, height: 844 }, media: {}, isRead: false },
  { name: 'in high contrast', direction: 'ltr', size: { width: 1280, height: 720 }, media: { contrast: 'more' }, isRead: true },
  { name: 'in the dark', direction: 'ltr', size: { width: 1280, height: 720 }, media: { colorScheme: 'dark' }, isRead: true },
  { name: 'in forced colors', direction: 'ltr', size: { width: 1280, height: 720 }, media: { forcedColors: 'active' }, isRead: false },
] as const;

describe.each(CIRCUMSTANCES)('$name', ({ name, direction, size, media, isRead }) => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await openDesk(browser, size);
    await desk.page.emulateMedia(media);
    await logIn(desk.page);
    await desk.page.evaluate((wanted) => (document.documentElement.dir = wanted), direction);
  });
  afterAll(() => desk.context.close());

  it('every page is as wide as the screen and has no problem', { timeout: 240_000 }, async () => {
    const { page, errors } = desk;
    const problems: string[] = [];
    for (const address of pages()) {
      await page.evaluate((hash) => (location.hash = hash), address);
      await page.locator('main :is(h1, h2, h3)').first().waitFor();
      await expect.poll(() => page.locator('main .loading').count(), { timeout: 20_000 }).toBe(0);
      const pixels = await overflow(page);
      if (pixels > 0) problems.push(`${address}: ${pixels} pixels too wide`);
      if (isRead) problems.push(...(await accessibilityProblems(page)).map((problem) => `${address}: ${problem}`));
      await screenshot(page, `${name.replace(/\W+/g, '-')}${address.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'id').replace(/\W+/g, '-')}`);
    }
    expect(problems).toEqual([]);
    expect(errors).toEqual([]);
  });
});
