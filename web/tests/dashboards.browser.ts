/* Live dashboards: numbers that move by themselves, and the lists behind them. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, logIn, openBrowser, openDesk, SERVICE_POINT } from './desk.ts';
import { look, SIZES } from './look.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

const visit = (page: Page, address: string) => page.evaluate((hash) => (location.hash = hash), address);
const numberOf = async (page: Page, label: string) => Number(((await page.getByRole('link', { name: new RegExp(`^[\\d,.]+ ?${label}`) }).locator('strong').textContent()) ?? '').replace(/\D/g, ''));

it('a check-out appears on the dashboard without reloading, and each number opens its list', async () => {
  const patron = await api.newPatron('Dashboard');
  const [barcode = ''] = await api.availableItems(1);
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, '#/dashboards');
  await page.getByText(/^Live, as of/).waitFor();
  const [checkOuts, open] = [await numberOf(page, 'Check-outs'), await numberOf(page, 'Open loans')];
  await api.post('/circulation/check-out-by-barcode', { itemBarcode: barcode, userBarcode: patron.barcode, servicePointId: SERVICE_POINT });
  await expect.poll(() => numberOf(page, 'Check-outs'), { timeout: 20_000 }).toBe(checkOuts + 1);
  expect(await numberOf(page, 'Open loans')).toBe(open + 1);
  // The table beside the chart has the numbers, too.
  const table = page.getByRole('group', { name: 'By hours' });
  await table.getByRole('row').nth(1).waitFor();

  await page.getByRole('link', { name: /Check-outs/ }).click();
  await page.getByRole('heading', { name: 'Check-outs of today' }).waitFor();
  await page.getByRole('row').nth(1).getByText(barcode).waitFor();
  await page.getByText(`${checkOuts + 1} found`).waitFor();
  for (const [label, heading] of [['Check-ins', 'Check-ins of today'], ['Renewals', 'Renewals of today'], ['Open loans', 'Open loans'], ['Overdue', 'Overdue loans']] as const) {
    await visit(page, '#/dashboards/circulation');
    await page.getByText(/^Live, as of/).waitFor();
    const shown = await numberOf(page, label);
    await page.getByRole('link', { name: new RegExp(`^[\\d,.]+ ?${label}`) }).click();
    await page.getByRole('heading', { name: heading }).waitFor();
    await page.getByText(shown === 0 ? /Nothing found/ : new RegExp(`^${shown} found`)).first().waitFor();
  }
  await visit(page, '#/dashboards/circulation');
  await page.getByText(/^Live, as of/).waitFor();
  const requests = await numberOf(page, 'Open requests');
  await page.getByRole('link', { name: /^[\d,.]+ ?Open requests/ }).click();
  await page.getByText(`${requests} found`).waitFor();
  expect(errors).toEqual([]);
  await context.close();
});

it('who lacks the permission of operators sees circulation only', async () => {
  const patron = await api.newPatron('Circulation staff');
  const user = await api.get<{ username: string }>(`/users/${patron.id}`);
  await api.post('/authn/credentials', { userId: patron.id, password: 'Correct-horse-7' });
  await api.post('/perms/users', { userId: patron.id, permissions: ['circulation.loans.collection.get', 'circulation.requests.collection.get'] });
  const { page, context } = await openDesk(browser);
  await logIn(page, user.username, 'Correct-horse-7');
  await visit(page, '#/dashboards');
  await page.getByText(/^Live, as of/).waitFor();
  expect(await page.getByRole('link', { name: 'Operators' }).count()).toBe(0);
  await context.close();
});

describe.each(SIZES)('on a $name ($width px)', (size) => {
  it('the dashboards have no problem', async () => {
    const { page, context, errors } = await openDesk(browser, size);
    await logIn(page);
    await visit(page, '#/dashboards/circulation');
    await page.getByText(/^Live, as of/).waitFor();
    await look(page, `${size.name}-dashboard`);
    await visit(page, '#/dashboards/circulation/open');
    await page.getByText(/\d+ found/).waitFor();
    await look(page, `${size.name}-dashboard-behind`);
    await visit(page, '#/dashboards/operators');
    await page.getByRole('row', { name: /email-delivery/ }).waitFor();
    await page.getByRole('heading', { name: 'Missing indexes' }).waitFor();
    await look(page, `${size.name}-dashboard-operators`);
    expect(errors).toEqual([]);
    await context.close();
  });
});
