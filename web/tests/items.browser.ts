/* Items: marked by hand, edited, with their history, and as parts of their instance. */
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

  it('the fields of an item are edited, and its instance lists it', async () => {
    const [barcode = ''] = await api.availableItems(1);
    const { id } = await api.itemByBarcode(barcode);
    const { page, context, errors } = await openDesk(browser, size);
    await logIn(page);
    await page.evaluate((hash) => (location.hash = hash), `#/items/${id}/notes`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit the item' });
    await dialog.getByLabel('Copy number').fill('c. 7');
    await dialog.getByRole('button', { name: 'Add a note' }).click();
    await dialog.getByText('a note is empty').waitFor();
    await dialog.getByLabel(/^Note/).fill('Count the maps');
    await look(page, `${size.name}-item-edit`);
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Count the maps').waitFor();
    const stored = await api.itemByBarcode(barcode);
    expect(stored).toMatchObject({ copyNumber: 'c. 7', circulationNotes: [{ noteType: 'Check out', note: 'Count the maps' }] });

    // Somebody else changes the item while the dialog is open.
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByLabel('Copy number').fill('c. 8');
    await api.changeItem(barcode, { copyNumber: 'c. 9', circulationNotes: [] });
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('Somebody else has changed this item').waitFor();
    expect(await api.itemByBarcode(barcode)).toMatchObject({ copyNumber: 'c. 9' });
    await page.keyboard.press('Escape');

    await page.getByRole('link', { name: 'The instance, its holdings and items' }).click();
    await page.getByRole('row', { name: new RegExp(`${barcode}.*Available.*c. 9`) }).waitFor();
    await look(page, `${size.name}-instance`);
    expect(errors).toEqual([]);
    await context.close();
  });
});
