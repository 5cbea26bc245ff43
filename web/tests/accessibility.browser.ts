/* Every page and the dialogs of the desk against WCAG 2.1 AA, as far as axe can tell. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityProblems } from './axe.ts';
import { overflow, SIZES } from './look.ts';
import { Api, type Desk, logIn, openBrowser, openDesk, scan, screenshot } from './desk.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

describe.each(SIZES)('on a $name ($width px)', (size) => {
  it('the scanning pages and their dialogs have no problem', async () => {
    const patron = await api.newPatron('Barrier-free');
    const [item = '', noted = ''] = await api.availableItems(2);
    await api.changeItem(noted, { circulationNotes: [{ id: crypto.randomUUID(), noteType: 'Check out', note: 'Fragile', staffOnly: true }] });
    const { page, context, errors } = await openDesk(browser, size);
    await page.getByLabel('Tenant').waitFor();
    const look = async (name: string) => {
      await screenshot(page, `${size.name}-${name}`);
      expect(await overflow(page), `${name} is wider than the screen`).toBe(0);
      expect(await accessibilityProblems(page), name).toEqual([]);
    };
    await look('login');
    await logIn(page);
    await look('check-out-empty');
    await scan(page, patron.barcode);
    await page.getByRole('link', { name: /Barrier-free/ }).waitFor();
    await scan(page, item);
    await page.locator('tr.row.done').waitFor();
    await scan(page, 'unknown-item');
    await page.getByRole('dialog', { name: 'Not checked out' }).waitFor();
    await look('refused');
    await page.keyboard.press('Escape');
    await look('check-out');
    await scan(page, noted);
    await page.getByRole('dialog', { name: 'Check-out note' }).waitFor();
    await look('note');
    await page.keyboard.press('Escape');
    await page.keyboard.press('F1');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await look('keys');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+D');
    await page.getByRole('dialog', { name: 'Special due date' }).waitFor();
    await look('due-date');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+A');
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem').first().waitFor();
    await look('row-menu');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+R');
    await page.getByRole('heading', { name: 'Check in' }).waitFor();
    await scan(page, item);
    await page.locator('tr.row.done').waitFor();
    await look('check-in');
    expect(errors).toEqual([]);
    await context.close();
  });
});

/** Pages behind the scanning desks, by their address and what shows that they are there. */
const PAGES: [address: string, heading: RegExp][] = [
  ['#/users', /^Users$/],
  ['#/users?q=test', /^Users$/],
  ['#/requests', /^Requests$/],
  ['#/requests/slips', /^Slips and hold shelf/],
  ['#/items', /^Items$/],
  ['#/settings/rules', /^Which rule applies/],
  ['#/settings/general', /^Check-out and check-in$/],
  ['#/settings/loan-policies', /^Loan policies$/],
  ['#/settings/notice-templates', /^Notice templates$/],
  ['#/settings/block-limits', /^Patron block limits$/],
  ['#/settings/locations', /^Locations$/],
  ['#/settings/permissions', /^Permission sets$/],
  ['#/settings/calendar', /\d{4}$/],
  ['#/settings/slips', /^Preview$/],
];

describe.each(SIZES)('on a $name ($width px)', (size) => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await openDesk(browser, size);
    await logIn(desk.page);
  });
  afterAll(() => desk.context.close());

  it('the views of a user, a request and an item have no problem', async () => {
    const { page, errors } = desk;
    const { loans } = await api.get<{ loans: { userId: string }[] }>('/circulation/loans?limit=1&query=status.name==Open sortby dueDate');
    const { requests } = await api.get<{ requests: { id: string; itemId: string }[] }>('/circulation/requests?limit=1&query=status=="Open - Not yet filled" and position==2');
    const user = `#/users/${loans[0]?.userId ?? ''}`;
    const views = [...['loans', 'closed', 'requests', 'fees', 'blocks', 'notes'].map((tab) => `${user}/${tab}`), `#/requests/${requests[0]?.id ?? ''}`];
    const item = `#/items/${requests[0]?.itemId ?? ''}`;
    for (const [index, address] of [...views, `${item}/loans`, `${item}/requests`, `${item}/notes`].entries()) {
      await page.evaluate((hash) => (location.hash = hash), address);
      await page.locator('.facts').first().waitFor();
      await page.waitForLoadState('networkidle');
      await screenshot(page, `${size.name}-view-${index}`);
      expect(await overflow(page), `${address} is wider than the screen`).toBe(0);
      expect(await accessibilityProblems(page), address).toEqual([]);
    }
    expect(errors).toEqual([]);
  });

  it.each(PAGES)('%s has no problem', async (address, heading) => {
    const { page, errors } = desk;
    await page.evaluate((hash) => (location.hash = hash), address);
    await page.getByRole('heading', { name: heading }).first().waitFor();
    await page.waitForLoadState('networkidle');
    await screenshot(page, `${size.name}-${address.replace(/\W+/g, '-').slice(1)}`);
    expect(await overflow(page)).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(errors).toEqual([]);
  });
});
