/* Items: marked by hand, with their history. */
import type { Browser } from 'playwright-core';
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

describe.each(SIZES)('on a $name ($width px)', (size) => {
  it('an item is marked as missing, and its history says what happened to it', async () => {
    const [barcode = ''] = await api.availableItems(1);
    const { id } = await api.itemByBarcode(barcode);
    await api.post('/circulation/check-in-by-barcode', { itemBarcode: barcode, servicePointId: SERVICE_POINT, checkInDate: new Date().toISOString() });
    const { page, context, errors } = await openDesk(browser, size);
    await logIn(page);
    await page.evaluate((hash) => (location.hash = hash), `#/items/${id}/history`);
    await page.getByText('Checked in').first().waitFor();
    await look(page, `${size.name}-item-history`);
    await page.getByRole('button', { name: 'Mark as …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Mark the item' });
    await dialog.getByLabel('New status').selectOption({ label: 'Missing' });
    await look(page, `${size.name}-item-mark`);
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(async () => (await api.itemByBarcode(barcode))['status']).toMatchObject({ name: 'Missing' });
    await page.getByText('Missing').first().waitFor();
    await api.post('/circulation/check-in-by-barcode', { itemBarcode: barcode, servicePointId: SERVICE_POINT, checkInDate: new Date().toISOString() });
    expect(errors).toEqual([]);
    await context.close();
  });
});
