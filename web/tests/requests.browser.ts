/* Requests at the desk: placed on an item or a title, picked up elsewhere, moved, and their slips printed. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessibilityProblems } from './axe.ts';
import { Api, logIn, openBrowser, openDesk, screenshot, SERVICE_POINT } from './desk.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

interface Item {
  id: string;
  barcode: string;
  holdingsRecordId: string;
  materialType: { id: string };
  permanentLoanType: { id: string; name: string };
}

/** Two items of one title, on shelves that the test's service point serves. */
async function twoItems(): Promise<{ first: Item; second: Item; instanceId: string; title: string }> {
  const { locations } = await api.get<{ locations: { id: string }[] }>(`/locations?limit=100&query=primaryServicePoint==${SERVICE_POINT}`);
  const where = locations.map((one) => one.id).join(' or ');
  const query = encodeURIComponent(`status.name==Available and effectiveLocationId==(${where})`);
  const { items } = await api.get<{ items: Item[] }>(`/inventory/items?limit=500&query=${query}`);
  const lendable = items.filter((item) => item.permanentLoanType.name === 'Can circulate');
  const first = lendable[Math.floor(Math.random() * lendable.length)];
  if (!first) throw new Error('no item can be lent');
  const barcode = `copy-${Math.floor(Math.random() * 1e9)}`;
  const { holdingsRecordId, materialType, permanentLoanType } = first;
  await api.post('/inventory/items', { id: crypto.randomUUID(), barcode, holdingsRecordId, status: { name: 'Available' }, materialType, permanentLoanType });
  const second = (await api.itemByBarcode(barcode)) as unknown as Item;
  const { instanceId } = await api.get<{ instanceId: string }>(`/holdings-storage/holdings/${holdingsRecordId}`);
  const { title } = await api.get<{ title: string }>(`/inventory/instances/${instanceId}`);
  return { first, second, instanceId, title };
}

async function setting(name: string, value: Record<string, unknown>): Promise<void> {
  const { circulationSettings } = await api.get<{ circulationSettings: { id: string; name: string }[] }>('/circulation/settings?limit=100');
  const stored = circulationSettings.find((one) => one.name === name);
  if (stored) await api.put(`/circulation/settings/${stored.id}`, { ...stored, value });
  else await api.post('/circulation/settings', { id: crypto.randomUUID(), name, value });
}

it('are placed, picked up elsewhere, moved to another item, and their print is noted', async () => {
  await setting('printEventLogFeature', { enablePrintLog: true });
  const [borrower, requester] = [await api.newPatron('Borrower'), await api.newPatron('Requester')];
  const { first, second } = await twoItems();
  await api.post('/circulation/check-out-by-barcode', { itemBarcode: first.barcode, userBarcode: borrower.barcode, servicePointId: SERVICE_POINT });
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await page.keyboard.press('Alt+P');
  await page.getByRole('dialog', { name: 'Service point' }).getByRole('button', { name: 'Circ Desk 1' }).click();
  await page.evaluate(() => (location.hash = '#/requests'));
  await page.getByRole('button', { name: 'New request' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^Patron's barcode/).fill(requester.barcode);
  await dialog.getByLabel(/^Item's barcode/).fill(first.barcode);
  await dialog.getByLabel(/^Type/).selectOption('Hold');
  await dialog.getByLabel(/^Pickup at/).selectOption({ label: 'Circ Desk 1' });
  await dialog.getByLabel('Expires').fill('2027-12-31');
  await screenshot(page, 'new-request');
  expect(await accessibilityProblems(page)).toEqual([]);
  await dialog.getByRole('button', { name: /^(Place|Request|Submit)/ }).click();
  await page.getByRole('button', { name: 'Change pickup' }).waitFor();
  const id = (await page.evaluate(() => location.hash)).split('/').pop() ?? '';
  const stored = () => api.get<Record<string, unknown>>(`/circulation/requests/${id}`);
  expect(await stored()).toMatchObject({ requestType: 'Hold', itemId: first.id });
  expect(String((await stored())['requestExpirationDate'])).toMatch(/^(2027-12-31|2028-01-01)/);

  await page.getByRole('button', { name: 'Change pickup' }).click();
  const pickup = page.getByRole('dialog', { name: 'Change pickup' });
  await pickup.getByLabel(/^Pickup at/).selectOption({ label: 'Circ Desk 2' });
  await pickup.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('.facts').getByText('Circ Desk 2').waitFor();

  await page.getByRole('button', { name: 'Move', exact: true }).click();
  const move = page.getByRole('dialog', { name: 'Move the request to another item' });
  await move.getByLabel(/^Type/).selectOption('Page');
  await screenshot(page, 'move-request');
  expect(await accessibilityProblems(page)).toEqual([]);
  await move.getByRole('button', { name: second.barcode }).click();
  await page.locator('.facts').getByText(second.barcode).waitFor();
  expect(await stored()).toMatchObject({ requestType: 'Page', itemId: second.id });

  await page.evaluate(() => (location.hash = '#/requests/slips'));
  const slip = page.getByRole('row', { name: new RegExp(second.barcode) });
  await slip.waitFor();
  await page.getByRole('button', { name: /^Print/ }).first().click();
  await slip.getByText('1 ×').waitFor();
  expect(await stored()).toMatchObject({ printDetails: { isPrinted: true, printCount: 1 } });
  await page.getByLabel(/^Show/).selectOption('Not printed yet');
  await expect.poll(() => slip.count()).toBe(0);
  await screenshot(page, 'pick-slips');
  expect(errors).toEqual([]);
  await context.close();
});

it('are placed on a title where that is enabled', async () => {
  await setting('generalTlr', { titleLevelRequestsFeatureEnabled: true, createTitleLevelRequestsByDefault: true, tlrHoldShouldFollowCirculationRules: false });
  try {
    const requester = await api.newPatron('Title');
    const { title, instanceId } = await twoItems();
    const { page, context } = await openDesk(browser);
    await logIn(page);
    await page.evaluate(() => (location.hash = '#/requests'));
    await page.getByRole('button', { name: 'New request' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Patron's barcode/).fill(requester.barcode);
    await dialog.getByLabel('Title or HRID').fill(title);
    await dialog.getByLabel(/^Title(?! or)/).selectOption({ index: 0 });
    await dialog.getByLabel(/^Pickup at/).waitFor();
    await screenshot(page, 'new-title-request');
    await dialog.getByRole('button', { name: /^(Place|Request|Submit)/ }).click();
    await page.getByText(/title level/).first().waitFor();
    const { requests } = await api.get<{ requests: { requestLevel: string; instanceId: string }[] }>(`/circulation/requests?query=requesterId==${requester.id}`);
    expect(requests).toMatchObject([{ requestLevel: 'Title' }]);
    expect(typeof instanceId).toBe('string');
    await context.close();
  } finally {
    await setting('generalTlr', { titleLevelRequestsFeatureEnabled: false, createTitleLevelRequestsByDefault: false, tlrHoldShouldFollowCirculationRules: false });
  }
});
