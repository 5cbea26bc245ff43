/* A day at the desk, from logging in to logging out. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api, logIn, openBrowser, openDesk, scan, SERVICE_POINT } from './desk.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

const prints = () => (window as unknown as { prints: string[] }).prints;

it('goes from login to logout', async () => {
  const patron = await api.newPatron('Day');
  const waiting = await api.newPatron('Requester');
  const [first = '', second = '', held = ''] = await api.availableItems(3);
  const { page, context, errors } = await openDesk(browser);

  // A wrong password is refused in words.
  await page.getByLabel('Tenant').fill('diku');
  await page.getByLabel('Username').fill('diku_admin');
  await page.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText(/Wrong username or wrong password/).waitFor();
  await logIn(page);

  // The service point is one key away.
  await page.keyboard.press('Alt+P');
  await page.getByRole('dialog', { name: 'Service point' }).getByRole('button', { name: 'Circ Desk 1' }).click();
  await page.getByRole('button', { name: /Service point:\s*Circ Desk 1/ }).waitFor();

  // Two items with a receipt.
  await page.getByLabel('Receipt').selectOption('print');
  await scan(page, patron.barcode);
  await page.getByRole('link', { name: /Day, Test/ }).waitFor();
  await scan(page, first);
  await scan(page, second);
  await expect.poll(() => page.locator('tr.row.done').count()).toBe(2);

  // A special due date stays on, with a clear sign.
  await page.keyboard.press('Alt+D');
  const dialog = page.getByRole('dialog', { name: 'Special due date' });
  await dialog.getByLabel('Due date').fill('2027-06-15T20:00');
  await dialog.getByRole('button', { name: 'Use this due date' }).click();
  await page.getByText('Everything is due on Jun 15, 2027').waitFor();
  await scan(page, held);
  await page.getByRole('row', { name: new RegExp(held) }).getByText('Jun 15, 2027').waitFor();

  // The newest row can be taken back.
  await page.waitForTimeout(300);
  await page.keyboard.press('Alt+A');
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Undo this check-out' }).click();
  await page.getByText('Checked in again').first().waitFor();

  // The end of the session prints the receipt and clears the panel.
  await page.keyboard.press('Alt+E');
  await page.getByText('The session has ended.').waitFor();
  expect(await page.getByRole('link', { name: /Day, Test/ }).count()).toBe(0);
  const [receipt = ''] = await page.evaluate(prints);
  expect(receipt).toContain(first);
  expect(receipt).toContain(second);

  // A hold of another patron turns the return into a trip to the hold shelf, with a slip.
  const item = await api.itemByBarcode(first);
  const holdings = await api.get<{ instanceId: string }>(`/holdings-storage/holdings/${String(item['holdingsRecordId'])}`);
  await api.post('/circulation/requests', {
    requestType: 'Hold',
    requestLevel: 'Item',
    requestDate: new Date().toISOString(),
    requesterId: waiting.id,
    instanceId: holdings.instanceId,
    holdingsRecordId: item['holdingsRecordId'],
    itemId: item.id,
    fulfillmentPreference: 'Hold Shelf',
    pickupServicePointId: SERVICE_POINT,
  });
  await page.keyboard.press('Alt+R');
  await page.getByRole('heading', { name: 'Check in' }).waitFor();
  await scan(page, first);
  const shelf = page.getByRole('dialog', { name: 'Awaiting pickup' });
  await shelf.getByText(/for Requester, Test/).waitFor();
  await page.waitForTimeout(300);
  await page.keyboard.press('Enter');
  await shelf.waitFor({ state: 'detached' });
  await expect.poll(() => page.evaluate(prints)).toHaveLength(2);
  expect((await page.evaluate(prints))[1]).toContain('Requester');
  await scan(page, second);
  await expect.poll(() => page.locator('tr.row.done').count()).toBe(2);
  await page.keyboard.press('Alt+E');

  // It is refused to others and lent to whom it waits for.
  await page.keyboard.press('Alt+U');
  await page.getByRole('heading', { name: 'Check out' }).waitFor();
  await scan(page, patron.barcode);
  await page.getByRole('link', { name: /Day, Test/ }).waitFor();
  await scan(page, first);
  await page.getByRole('alert').getByText(/requested by another patron/).waitFor();
  await scan(page, waiting.barcode);
  await page.getByRole('dialog', { name: "A patron's card" }).getByRole('button', { name: /Go on with Requester/ }).click();
  await page.getByText('1 item awaits pickup here').waitFor();
  await scan(page, first);
  await page.locator('tr.row.done').waitFor();

  await page.getByRole('button', { name: /your settings/ }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in to the staff desk' }).waitFor();
  expect(errors).toEqual([]);
  await context.close();
});

it('asks who is there again when the session has expired, and loses nothing', async () => {
  const patron = await api.newPatron('Expiry');
  const [barcode = ''] = await api.availableItems(1);
  const { page, context } = await openDesk(browser);
  await logIn(page);
  await scan(page, patron.barcode);
  await page.getByRole('link', { name: /Expiry/ }).waitFor();
  await context.clearCookies();
  await scan(page, barcode);
  const again = page.getByRole('dialog', { name: 'Your session has expired' });
  await again.getByLabel('Password').fill('admin');
  await page.waitForTimeout(350);
  await page.keyboard.press('Enter');
  await page.locator('tr.row.done').waitFor();
  await context.close();
});
