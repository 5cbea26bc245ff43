/* The loop of scans at both desks, by keyboard events alone. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, Api, logIn, openBrowser, openDesk, PASSWORD, scan, screenshot, SERVICE_POINT } from './desk.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

const states = (page: Page) => page.locator('tr.row').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-state')));

/** How many scans of a session have an outcome; only the newest rows are in the page, and the footer counts all. */
async function settled(page: Page): Promise<number> {
  return page.locator('.desk-footer').evaluate((footer) => {
    const number = (pattern: RegExp) => Number(pattern.exec(footer.textContent ?? '')?.[1] ?? 0);
    const shown = document.querySelectorAll('tr.row.waiting, tr.row.working').length;
    return number(/(\d+) items?/) - Math.max(shown, number(/(\d+) in progress/));
  });
}

/** The states of all rows, newest first, also of those that scrolling adds. */
async function allStates(page: Page) {
  const earlier = page.getByRole('button', { name: /^Show \d+ earlier/ });
  await expect
    .poll(async () => {
      await page.locator('.rows-frame').evaluate((frame) => (frame.scrollTop = frame.scrollHeight));
      return earlier.count();
    })
    .toBe(0);
  return states(page);
}
const focused = (page: Page) => page.evaluate(() => document.activeElement?.closest('form')?.getAttribute('aria-label') ?? document.activeElement?.tagName);

/** Answers each dialog with Enter, as it has its safe default in focus, until so many rows have an outcome. */
async function answerUntil(page: Page, rows: number): Promise<number> {
  let dialogs = 0;
  const end = Date.now() + 40_000;
  while (await settled(page) < rows) {
    if (Date.now() > end) {
      await screenshot(page, 'unanswered');
      const shown = await page.locator('tr.row').evaluateAll((all) => all.map((row) => `${row.getAttribute('data-state')} ${row.querySelector('.digits')?.textContent}`));
      throw new Error(`${await settled(page)} of ${rows} scans were answered:\n${shown.join('\n')}`);
    }
    const dialog = page.getByRole('dialog');
    if (await dialog.isVisible().catch(() => false)) {
      // A person needs a moment to read; keys before that belong to the scan.
      await page.waitForTimeout(350);
      const text = await dialog.textContent();
      await page.keyboard.press('Enter');
      dialogs += 1;
      await expect.poll(() => dialog.isVisible().then((open) => (open ? dialog.textContent() : '')), { timeout: 5_000, message: await page.evaluate(() => `${document.activeElement?.outerHTML} ${performance.now()}`) }).not.toBe(text);
    } else await page.waitForTimeout(20);
  }
  return dialogs;
}

describe('sixty scans by keyboard alone', () => {
  it('lose none, whatever dialogs come between, and the focus returns each time', async () => {
    const patron = await api.newPatron('Sixty');
    const items = await api.availableItems(60);
    const notes = (noteType: string, note: string) => [{ id: crypto.randomUUID(), noteType, note, staffOnly: true }];
    for (const [index, barcode] of items.entries()) {
      if (index % 20 === 5) await api.changeItem(barcode, { circulationNotes: [...notes('Check out', 'Count the maps'), ...notes('Check in', 'Look at the maps')] });
      if (index % 20 === 12) await api.changeItem(barcode, { numberOfPieces: '3', descriptionOfPieces: 'book and two maps' });
      if (index % 20 === 17) await api.post(`/inventory/items/${(await api.itemByBarcode(barcode)).id}/mark-unknown`, {});
    }
    const { page, errors, context } = await openDesk(browser);
    await logIn(page);

    await scan(page, patron.barcode);
    await page.getByRole('link', { name: /Sixty/ }).waitFor();
    await expect.poll(() => focused(page)).toBe('Item');
    for (const barcode of items) await scan(page, barcode);
    expect(await answerUntil(page, 60)).toBe(9);
    await expect.poll(() => focused(page)).toBe('Item');
    expect(await allStates(page)).toEqual(Array(60).fill('done'));
    const loans = await api.get<{ totalRecords: number }>(`/circulation/loans?limit=0&query=userId==${patron.id} and status.name==Open`);
    expect(loans.totalRecords).toBe(60);
    await screenshot(page, 'check-out-60');
    await page.keyboard.press('Alt+E');
    await expect.poll(() => focused(page)).toBe('Patron');

    await page.keyboard.press('Alt+R');
    await page.getByRole('heading', { name: 'Check in' }).waitFor();
    await expect.poll(() => focused(page)).toBe('Item');
    for (const barcode of items) await scan(page, barcode);
    expect(await answerUntil(page, 60)).toBeGreaterThanOrEqual(6);
    await expect.poll(() => focused(page)).toBe('Item');
    expect(await allStates(page)).toEqual(Array(60).fill('done'));
    const left = await api.get<{ totalRecords: number }>(`/circulation/loans?limit=0&query=userId==${patron.id} and status.name==Open`);
    expect(left.totalRecords).toBe(0);
    await screenshot(page, 'check-in-60');
    expect(errors).toEqual([]);
    await context.close();
  });
});

describe('a long list', () => {
  it('costs a scan no more than a short one: only the new row changes, and its call begins before it is drawn', async () => {
    const { page, context, errors } = await openDesk(browser);
    await logIn(page);
    await page.route('**/circulation/check-in-by-barcode', (route) => {
      const { itemBarcode } = route.request().postDataJSON() as { itemBarcode: string };
      const item = { id: itemBarcode, barcode: itemBarcode, title: `Title ${itemBarcode}`, status: { name: 'Available' }, location: { name: 'Here' } };
      return route.fulfill({ json: { item, inHouseUse: true } });
    });
    await page.keyboard.press('Alt+R');
    await expect.poll(() => focused(page)).toBe('Item');
    for (let number = 0; number < 70; number += 1) await scan(page, `long-${1000 + number}`);
    await expect.poll(() => settled(page), { timeout: 40_000 }).toBe(70);

    await page.evaluate(() => {
      const seen = { changed: new Set<Element>(), added: 0, removed: 0, wasDrawnAtCall: undefined as boolean | undefined };
      Object.assign(window, { seen });
      const body = document.querySelector('.rows-frame tbody');
      if (!body) throw new Error('there is no list');
      const newest = document.querySelector('tr.row');
      new MutationObserver((all) => {
        for (const { target, addedNodes, removedNodes } of all) {
          if (target === body) {
            seen.added += addedNodes.length;
            seen.removed += removedNodes.length;
          } else {
            const row = (target instanceof Element ? target : target.parentElement)?.closest('tr');
            if (row) seen.changed.add(row);
          }
        }
      }).observe(body, { subtree: true, childList: true, attributes: true, characterData: true });
      const send = window.fetch;
      window.fetch = (...given) => {
        seen.wasDrawnAtCall ??= document.querySelector('tr.row') !== newest;
        return send(...given);
      };
    });
    await scan(page, 'long-newest');
    await page.getByRole('row', { name: /Title long-newest/ }).waitFor();
    const seen = await page.evaluate(() => {
      const { changed, added, removed, wasDrawnAtCall } = (window as unknown as { seen: { changed: Set<Element>; added: number; removed: number; wasDrawnAtCall: boolean } }).seen;
      return { changed: [...changed].map((row) => row.querySelector('.digits')?.textContent), added, removed, wasDrawnAtCall, rows: document.querySelectorAll('tr.row').length };
    });
    expect(seen).toEqual({ changed: ['long-newest'], added: 1, removed: 1, wasDrawnAtCall: false, rows: 30 });
    expect(await allStates(page)).toEqual(Array(71).fill('done'));
    expect(errors).toEqual([]);
    await context.close();
  });
});

describe('a scan', () => {
  it('shows its row before it is answered, and counts once when it comes twice', async () => {
    const patron = await api.newPatron('Twice');
    const [barcode = ''] = await api.availableItems(1);
    const { page, context } = await openDesk(browser);
    await logIn(page);
    await scan(page, patron.barcode);
    await page.getByRole('link', { name: /Twice/ }).waitFor();
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/circulation/check-out-by-barcode', async (route) => {
      await held;
      await route.continue();
    });
    await scan(page, barcode);
    await expect.poll(() => states(page)).toEqual(['working']);
    await scan(page, barcode);
    await page.getByText('was scanned twice').first().waitFor();
    release();
    await expect.poll(() => states(page)).toEqual(['done']);
    await context.close();
  });

  it('of an item of another place makes it available here where transits are suppressed', async () => {
    const { locations } = await api.get<{ locations: { id: string; servicePointIds: string[] }[] }>('/locations?limit=1000');
    const elsewhere = locations.find((location) => !location.servicePointIds.includes(SERVICE_POINT))?.id ?? '';
    const query = encodeURIComponent(`status.name=="Available" and effectiveLocationId==${elsewhere}`);
    const { items } = await api.get<{ items: { barcode: string; circulationNotes: unknown[]; numberOfPieces?: string }[] }>(`/inventory/items?limit=50&query=${query}`);
    const barcode = items.find((item) => item.circulationNotes.length === 0 && !item.numberOfPieces)?.barcode ?? '';
    const { page, context } = await openDesk(browser);
    await logIn(page);
    await page.keyboard.press('Alt+R');
    await page.getByText('Keep here: no transits').click();
    await scan(page, barcode);
    await page.getByRole('row', { name: new RegExp(`${barcode}.*Available`) }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await api.itemByBarcode(barcode)).toMatchObject({ status: { name: 'Available' } });
    await context.close();
  });

  it('that fails is red, says why, and names the request', async () => {
    const { page, context } = await openDesk(browser);
    await logIn(page);
    await page.keyboard.press('Alt+R');
    await page.getByRole('heading', { name: 'Check in' }).waitFor();
    await expect.poll(() => focused(page)).toBe('Item');
    await scan(page, 'no-such-item');
    await expect.poll(() => states(page)).toEqual(['failed']);
    await page.getByRole('alert').getByText('No item with barcode no-such-item exists').waitFor();
    await page.getByRole('button', { name: /^Request / }).waitFor();
    await expect.poll(() => focused(page)).toBe('Item');
    await context.close();
  });

  it('of an unknown item becomes a brief record, whose ISBN field a reader may fill', async () => {
    const patron = await api.newPatron('Brief');
    const barcode = `brief-${Math.floor(Math.random() * 1e9)}`;
    const { page, context, errors } = await openDesk(browser);
    await logIn(page);
    await scan(page, patron.barcode);
    await page.getByRole('link', { name: /Brief/ }).waitFor();
    await scan(page, barcode);
    await page.getByRole('dialog', { name: 'Not checked out' }).getByRole('button', { name: 'Add the item' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an item quickly' });
    await dialog.getByLabel('Title').fill('Nod');
    await dialog.getByLabel('Contributor').fill('Barnes, Adrian');
    await dialog.getByLabel('ISBN').focus();
    await page.keyboard.type('9781783298228');
    await page.keyboard.press('Enter');
    expect(await dialog.isVisible()).toBe(true);
    await screenshot(page, 'fast-add');
    await dialog.getByRole('button', { name: 'Add and check out' }).click();
    await expect.poll(() => states(page)).toEqual(['done']);
    const item = await api.itemByBarcode(barcode);
    expect(item).toMatchObject({ title: 'Nod' });
    expect(errors).toEqual([]);
    await context.close();
  });

  it('for a blocked patron goes on when a supervisor signs in for the override', async () => {
    const [patron, colleague] = [await api.newPatron('Blocked'), await api.newPatron('Beginner')];
    const [barcode = ''] = await api.availableItems(1);
    await api.post('/manualblocks', { type: 'Manual', desc: 'Bring the maps', userId: patron.id, borrowing: true, renewals: false, requests: false });
    await api.post('/authn/credentials', { userId: colleague.id, password: 'A-good-password-1' });
    const permissions = ['circulation.check-out-by-barcode.post', 'users.collection.get', 'users.item.get', 'circulation.loans.collection.get', 'manualblocks.collection.get', 'inventory.items.collection.get', 'inventory-storage.service-points.collection.get', 'perms.users.get'];
    await api.post('/perms/users', { id: crypto.randomUUID(), userId: colleague.id, permissions });
    const { page, context, errors } = await openDesk(browser);
    await logIn(page, `test-${colleague.barcode}`, 'A-good-password-1');
    await scan(page, patron.barcode);
    await page.getByText('Bring the maps').first().waitFor();
    await page.getByRole('button', { name: 'Override' }).click();
    const dialog = page.getByRole('dialog');
    // The comment keeps the focus at first.
    await page.waitForTimeout(400);
    await dialog.getByLabel(/^Comment/).fill('agreed');
    await dialog.getByLabel('Username').fill(ADMIN);
    await dialog.getByLabel('Password').fill(PASSWORD);
    await screenshot(page, 'override-supervisor');
    await dialog.getByRole('button', { name: /^Override/ }).click();
    // The supervisor's password is checked first, which takes its time.
    await expect.poll(() => focused(page), { timeout: 20_000 }).toBe('Item');
    await scan(page, barcode);
    await expect.poll(() => states(page), { timeout: 10_000 }).toEqual(['done']);
    expect(errors).toEqual([]);
    await context.close();
  });

  it('while a dialog is open neither answers it nor is lost', async () => {
    const patron = await api.newPatron('Meanwhile');
    const [first = '', second = ''] = await api.availableItems(2);
    await api.changeItem(first, { circulationNotes: [{ id: crypto.randomUUID(), noteType: 'Check out', note: 'Fragile', staffOnly: true }] });
    const { page, context } = await openDesk(browser);
    await logIn(page);
    await scan(page, patron.barcode);
    await page.getByRole('link', { name: /Meanwhile/ }).waitFor();
    await scan(page, first);
    await page.getByRole('dialog', { name: 'Check-out note' }).waitFor();
    await page.waitForTimeout(400);
    await scan(page, second);
    await expect.poll(() => states(page)).toEqual(['waiting', 'working']);
    expect(await page.getByRole('dialog', { name: 'Check-out note' }).isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    await expect.poll(() => states(page)).toEqual(['done', 'cancelled']);
    await context.close();
    await api.post('/circulation/check-in-by-barcode', { itemBarcode: second, servicePointId: SERVICE_POINT, checkInDate: new Date().toISOString() });
  });
});
