/* Lists: built, tested, saved, refreshed, looked through, exported and deleted. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, logIn, openBrowser, openDesk } from './desk.ts';
import { look, SIZES } from './look.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

const ITEMS = 'd0213d22-32cf-490f-9196-d81c3c66e53f';
const visit = (page: Page, address: string) => page.evaluate((hash) => (location.hash = hash), address);
const settle = (page: Page) => page.waitForTimeout(300);
const idOf = (page: Page) => new URL(page.url()).hash.split('/')[2] ?? '';

it('a list is built, tested, saved, refreshed, exported, changed and deleted', async () => {
  const name = `Available items ${Math.floor(Math.random() * 1e9)}`;
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, '#/lists');
  await page.getByRole('link', { name: 'New list' }).click();
  await page.getByRole('heading', { name: 'New list' }).waitFor();
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await page.getByLabel('Record type').selectOption({ label: 'Items' });
  expect(await page.getByRole('button', { name: /^Save/ }).textContent()).toContain('choose a field');
  const condition = page.getByRole('group', { name: 'Condition 1' });
  await condition.getByLabel('Field').selectOption({ label: 'Item — Status' });
  await condition.getByLabel('Operator').selectOption({ label: 'is one of' });
  await condition.getByRole('checkbox', { name: 'Available', exact: true }).press('Space');
  await page.getByRole('button', { name: 'Add a condition' }).click();
  const second = page.getByRole('group', { name: 'Condition 2' });
  await second.getByLabel('Field').selectOption({ label: 'Item — Barcode' });
  await second.getByLabel('Operator').selectOption({ label: 'starts with' });
  await second.getByLabel('Value').fill('3900000000');

  // The query is tested before anything is kept.
  await page.getByRole('button', { name: 'Test the query' }).click();
  await page.getByRole('status').getByText(/\d+ records/).waitFor();
  await page.getByRole('group', { name: 'First records' }).getByRole('row').nth(1).waitFor();
  const found = Number(/(\d+) records/.exec((await page.getByRole('status').filter({ hasText: /records/ }).textContent()) ?? '')?.[1]);
  expect(found).toBeGreaterThan(20);

  await page.getByRole('button', { name: 'Save and refresh' }).click();
  await page.getByRole('heading', { name, exact: true }).waitFor();
  const id = idOf(page);
  // While it is refreshed it can be cancelled; when it is done, the contents appear by themselves.
  await page.getByRole('status').getByText(/is being refreshed/).waitFor();
  await page.getByRole('button', { name: 'Cancel the refresh' }).waitFor();
  await page.getByRole('heading', { name: `${found} records` }).waitFor();
  await page.getByText('Item — Status is one of Available').waitFor();
  const contents = page.getByRole('group', { name: 'Contents' });
  const columnsBefore = await contents.locator('th').count();
  await page.getByText(/^Columns:/).click();
  await page.getByRole('checkbox', { name: 'Item — Item UUID' }).press('Space');
  await expect.poll(() => contents.locator('th').count()).not.toBe(columnsBefore);

  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export these columns' }).click();
  const file = await downloading;
  const csv = readFileSync(await file.path(), 'utf8');
  expect(csv.trim().split('\n')).toHaveLength(found + 1);
  expect(csv).toContain('Item - Item UUID');

  // A refresh that is cancelled leaves the contents as they were.
  await page.getByRole('button', { name: 'Refresh', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel the refresh' }).click();
  await page.getByRole('button', { name: 'Refresh', exact: true }).waitFor();
  await page.getByRole('heading', { name: `${found} records` }).waitFor();

  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('group', { name: 'Condition 2' }).getByLabel('Value').fill('39000000000');
  // What somebody else has saved meanwhile is refused by the server.
  const stored = await api.get<Record<string, unknown>>(`/lists/${id}`);
  await api.put(`/lists/${id}`, { ...stored, description: 'changed meanwhile' });
  await page.getByRole('button', { name: 'Save and refresh' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('group', { name: 'Condition 2' }).getByLabel('Value').fill('39000000000');
  await page.getByRole('button', { name: 'Save and refresh' }).click();
  await page.getByText('Item — Barcode starts with 39000000000').waitFor();

  await page.getByRole('button', { name: 'Refresh', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await settle(page);
  await page.getByRole('dialog', { name: 'Delete the list' }).getByRole('button', { name: 'Delete' }).press('Enter');
  await page.getByRole('link', { name: 'New list' }).waitFor();
  await expect(api.get(`/lists/${id}`)).rejects.toThrow(/404/);
  expect(errors).toEqual([]);
  await context.close();
});

it('a query that rows cannot say is edited as text, and its refusal is shown', async () => {
  const fql = '{"_version":"24","items.barcode":{"$regex":"^39"}}';
  const { id } = await api.call<{ id: string }>('POST', '/lists', { name: `Pattern ${Math.random()}`, entityTypeId: ITEMS, fqlQuery: fql, fields: ['items.barcode'], isActive: true, isPrivate: false });
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, `#/lists/${id}/edit`);
  await page.getByLabel('FQL').fill('{"items.barcode":{"$like":"39"}}');
  await page.getByRole('button', { name: 'Save and refresh' }).click();
  await page.getByRole('alert').getByText(/invalid operator/).waitFor();
  await api.call('DELETE', `/lists/${id}`);
  expect(errors).toEqual([]);
  await context.close();
});

it('a list has a schedule, a history, and versions that can be restored', async () => {
  const name = `Scheduled ${Math.floor(Math.random() * 1e9)}`;
  const fql = '{"_version":"24","items.status_name":{"$eq":"Available"}}';
  const { id } = await api.call<{ id: string }>('POST', '/lists', { name, entityTypeId: ITEMS, fqlQuery: fql, fields: ['items.barcode'], isActive: true, isPrivate: false });
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, `#/lists/${id}`);
  const facts = page.getByRole('region', { name: 'About the list' });
  await facts.getByText('never', { exact: true }).waitFor();

  await page.keyboard.press('Alt+L');
  await page.getByRole('status').getByText(/is being refreshed/).waitFor();
  await page.getByRole('button', { name: 'Refresh', exact: true }).waitFor();
  await page.getByText('Refreshes', { exact: true }).click();
  const history = page.getByRole('group', { name: 'Refreshes' });
  await history.getByRole('row').filter({ hasText: 'done' }).waitFor();
  const downloading = page.waitForEvent('download');
  await page.keyboard.press('Alt+X');
  expect((await downloading).suggestedFilename()).toBe(`${name}.csv`);

  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill(`${name} changed`);
  await page.getByLabel('Refreshed by itself').selectOption({ label: 'every day' });
  await page.getByRole('button', { name: 'Save and refresh' }).click();
  await facts.getByText('every day').waitFor();
  // A list that is being refreshed cannot be changed.
  await expect.poll(async () => (await api.get<{ successRefresh?: { contentVersion: number } }>(`/lists/${id}`)).successRefresh?.contentVersion).toBe(2);

  await page.getByText('Versions', { exact: true }).click();
  await page.getByRole('button', { name: 'Restore version 1' }).click();
  await settle(page);
  await page.getByRole('dialog', { name: 'Restore an earlier version' }).getByRole('button', { name: 'Restore version 1' }).press('Enter');
  await page.getByRole('heading', { name, exact: true }).waitFor();
  const stored = await api.get<Record<string, unknown>>(`/lists/${id}`);
  expect([stored['version'], stored['name'], stored['refreshEverySeconds']]).toEqual([3, name, 86_400]);
  await api.call('DELETE', `/lists/${id}`);
  expect(errors).toEqual([]);
  await context.close();
});

describe.each(SIZES)('on a $name ($width px)', (size) => {
  it('the pages of lists have no problem', async () => {
    const { page, context, errors } = await openDesk(browser, size);
    await logIn(page);
    await visit(page, '#/lists');
    await page.getByRole('link', { name: 'Missing items' }).waitFor();
    await look(page, `${size.name}-lists`);
    await page.getByRole('link', { name: 'Missing items' }).click();
    await page.getByText(/Item — Status is one of/).waitFor();
    await look(page, `${size.name}-list`);
    await visit(page, '#/lists/new');
    await page.getByRole('group', { name: 'Condition 1' }).getByLabel('Field').selectOption({ label: 'Item — Status' });
    await page.getByRole('group', { name: 'Condition 1' }).getByLabel('Operator').selectOption({ label: 'is one of' });
    await page.getByRole('checkbox', { name: 'Available', exact: true }).press('Space');
    await page.getByRole('button', { name: 'Test the query' }).click();
    await page.getByRole('group', { name: 'First records' }).waitFor();
    await look(page, `${size.name}-list-new`);
    expect(errors).toEqual([]);
    await context.close();
  });
});
