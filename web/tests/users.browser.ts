/* Accounts: created, changed, blocked, noted, represented, and their loans worked on. */
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

interface StoredUser {
  id: string;
  barcode: string;
  active: boolean;
  expirationDate?: string;
  personal: { lastName: string; email?: string; preferredContactTypeId?: string; addresses?: { addressLine1?: string; city?: string; primaryAddress?: boolean }[]; profilePictureLink?: string };
  customFields?: Record<string, unknown>;
}

const visit = (page: Page, address: string) => page.evaluate((hash) => (location.hash = hash), address);
const userOf = (id: string) => api.get<StoredUser>(`/users/${id}`);
const unique = () => String(Math.floor(Math.random() * 1e9));
/** A dialog that has just opened puts the focus on its safe default, and keys belong to the scan that opened it. */
const settle = (page: Page) => page.waitForTimeout(300);

/** A pixel, as PNG. */
const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

it('an account is created by keyboard, and changed', async () => {
  const field = { name: `Locker ${unique()}`, type: 'TEXTBOX_SHORT', entityType: 'user', visible: true, required: false, helpText: 'Number on the key', textField: { fieldFormat: 'TEXT' } };
  await api.post('/custom-fields', field);
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, '#/users');
  await page.getByRole('link', { name: 'New user' }).click();
  await page.getByRole('heading', { name: 'New user' }).waitFor();
  // The first field has the focus, and the button says what is missing.
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-labelledby') !== null && document.activeElement?.tagName)).toBe('INPUT');
  expect(await page.getByRole('button', { name: /^Save/ }).textContent()).toContain('needs a last name');
  await page.keyboard.type('Hopper');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Grace');
  const barcode = `28${unique()}`;
  await page.getByLabel('Barcode').fill('290000000001');
  await page.getByLabel('Username').fill(`hopper${barcode}`);
  await page.getByLabel('Patron group').selectOption({ label: 'staff' });
  expect(await page.getByRole('button', { name: /^Save/ }).textContent()).toContain('needs an e-mail address');
  await page.getByLabel('E-mail').first().fill('grace@example.org');
  await page.getByLabel('Expires').fill('2030-06-30');
  await page.getByRole('button', { name: 'Add an address' }).click();
  await page.getByLabel('Address line 1').fill('1 Compiler Row');
  await page.getByLabel('City').fill('Arlington');
  await page.getByLabel(field.name).fill('17');
  // A barcode that is taken is refused in the server's words, and nothing that was typed is lost.
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('This barcode has already been taken').waitFor();
  await page.getByLabel('Barcode').fill(barcode);
  await page.getByLabel('Barcode').press('Enter');
  await page.getByRole('heading', { name: 'Hopper, Grace' }).waitFor();
  const id = new URL(page.url()).hash.split('/')[2] ?? '';
  expect(await userOf(id)).toMatchObject({
    barcode,
    active: true,
    expirationDate: expect.stringMatching(/^2030-06-30T23:59:59/) as string,
    personal: { lastName: 'Hopper', email: 'grace@example.org', preferredContactTypeId: '002', addresses: [{ addressLine1: '1 Compiler Row', city: 'Arlington', primaryAddress: true }] },
  });
  expect(Object.values((await userOf(id)).customFields ?? {})).toEqual(['17']);
  await page.getByText('17', { exact: true }).waitFor();

  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByLabel('Last name').fill('Hopper-Murray');
  // What somebody else has saved meanwhile is not overwritten.
  await api.put(`/users/${id}`, { ...(await userOf(id)), personal: { ...(await userOf(id)).personal, email: 'other@example.org' } });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText(/Somebody else has changed this account/).waitFor();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByLabel('Last name').fill('Hopper-Murray');
  await page.getByRole('checkbox', { name: 'The account is active' }).press('Space');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Hopper-Murray, Grace' }).waitFor();
  expect(await userOf(id)).toMatchObject({ active: false, personal: { lastName: 'Hopper-Murray', email: 'other@example.org' } });
  expect(errors).toEqual([]);
  await context.close();
});

it('blocks and notes are written, changed and deleted', async () => {
  const patron = await api.newPatron('Blocked');
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, `#/users/${patron.id}/blocks`);
  await page.getByRole('button', { name: 'Add a block' }).click();
  const block = page.getByRole('dialog', { name: 'Add a block' });
  await settle(page);
  await block.getByLabel('Reason').fill('Card lent to others');
  await block.getByLabel('Until').fill('2031-01-31');
  await block.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /Card lent to others/ }).waitFor();
  const actions = (name: RegExp) => page.getByRole('row', { name }).getByRole('button', { name: /Actions for/ });
  await actions(/Card lent/).press('Enter');
  await page.getByRole('menuitem', { name: 'Edit' }).click();
  await settle(page);
  await page.getByRole('dialog', { name: 'Edit the block' }).getByLabel('Information for staff').fill('seen twice');
  await page.getByRole('dialog', { name: 'Edit the block' }).getByRole('checkbox', { name: 'Requests' }).press('Space');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByRole('row', { name: /Borrowing, Renewals Jan 31, 2031 seen twice/ }).waitFor();
  await actions(/Card lent/).press('Enter');
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const deleting = page.getByRole('dialog', { name: 'Delete the block' });
  // The safe answer has the focus.
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel');
  await deleting.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No blocks.').waitFor();

  await visit(page, `#/users/${patron.id}/notes`);
  await page.getByRole('button', { name: 'Add a note' }).click();
  const note = page.getByRole('dialog', { name: 'Add a note' });
  await settle(page);
  await note.getByLabel('Title').fill('Large print');
  await note.getByLabel('Note', { exact: true }).fill('Prefers <large> print\nand audio');
  await note.getByRole('checkbox', { name: /account is opened/ }).press('Space');
  await note.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /Large print/ }).waitFor();
  const { notes } = await api.get<{ notes: { content: string }[] }>(`/note-links/domain/users/type/user/id/${patron.id}?status=assigned`);
  expect(notes[0]?.content).toBe('<p>Prefers &lt;large&gt; print</p><p>and audio</p>');
  await page.locator('.message').getByText('Prefers <large> print').waitFor();
  await actions(/Large print/).press('Enter');
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete the note' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No notes.').waitFor();
  expect(errors).toEqual([]);
  await context.close();
});

it('proxies, passwords, service points and photos are set', async () => {
  const { id: configuration, ...settings } = await api.get<{ id: string }>('/users/configurations/entry');
  await api.put(`/users/configurations/entry/${configuration}`, { ...settings, id: configuration, enabled: true });
  const [sponsor, proxy] = [await api.newPatron(`Sponsor${unique()}`), await api.newPatron('Proxy')];
  const name = (await userOf(sponsor.id)).personal.lastName;
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, `#/users/${proxy.id}/proxies`);
  await page.getByRole('button', { name: 'Add a sponsor' }).click();
  await page.getByRole('dialog').getByLabel(/Name, barcode/).fill(name);
  await page.getByRole('dialog').getByRole('button', { name: new RegExp(name) }).click();
  const relation = page.getByRole('dialog', { name: new RegExp(`${name}, Test as sponsor`) });
  await relation.getByLabel('Notices go to').selectOption('Proxy');
  await relation.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: new RegExp(`${name}, Test Active Yes Proxy`) }).waitFor();
  const { proxiesFor } = await api.get<{ proxiesFor: object[] }>(`/proxiesfor?query=proxyUserId==${proxy.id}`);
  expect(proxiesFor).toMatchObject([{ userId: sponsor.id, status: 'Active', requestForSponsor: 'Yes', notificationsTo: 'Proxy' }]);

  await visit(page, `#/users/${proxy.id}/login`);
  await page.getByText('is not set').waitFor();
  await page.getByRole('button', { name: 'Set a password' }).click();
  const setting = page.getByRole('dialog', { name: 'Set a password' });
  await settle(page);
  await setting.getByLabel('New password').fill('Correct-horse-7');
  expect(await setting.getByRole('button', { name: /^Save/ }).textContent()).toContain('the two differ');
  await setting.getByLabel('The same again').fill('Correct-horse-7');
  await setting.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The password is set.').waitFor();
  await page.getByText('is set', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Create a reset link' }).click();
  await expect.poll(() => page.getByLabel('Reset link').inputValue()).toContain('/reset-password/');
  await page.getByRole('checkbox', { name: 'Circ Desk 2' }).press('Space');
  await page.getByRole('button', { name: 'Save the service points' }).click();
  await page.getByText(/Saved. They apply/).waitFor();
  const { servicePointsUsers } = await api.get<{ servicePointsUsers: object[] }>(`/service-points-users?query=userId==${proxy.id}`);
  expect(servicePointsUsers).toMatchObject([{ servicePointsIds: ['c4c90014-c8c9-4ade-8f24-b5e313319f4b'], defaultServicePointId: 'c4c90014-c8c9-4ade-8f24-b5e313319f4b' }]);

  await page.locator('input[type=file]').setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: PIXEL });
  await page.getByRole('img', { name: /Photo of Proxy/ }).waitFor();
  expect((await userOf(proxy.id)).personal.profilePictureLink).toMatch(/^[0-9a-f-]{36}$/);
  // Staff see at the desk whose card it is.
  await page.getByRole('button', { name: 'Check out to this patron' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /^For / }).first().click();
  await page.getByRole('region', { name: 'Patron' }).getByRole('img', { name: /Photo of Proxy/ }).waitFor();
  await visit(page, `#/users/${proxy.id}/login`);
  await page.locator('input[type=file]').setInputFiles({ name: 'photo.gif', mimeType: 'image/gif', buffer: Buffer.from('GIF89a') });
  await page.getByRole('alert').getByText(/supported type/).waitFor();
  await page.getByRole('button', { name: 'Remove the photo' }).click();
  await page.getByRole('button', { name: 'Add a photo' }).waitFor();
  expect((await userOf(proxy.id)).personal.profilePictureLink).toBeUndefined();
  expect(errors).toEqual([]);
  await context.close();
});

it('a loan is renewed with an override, its due date changed, and charged for', async () => {
  const patron = await api.newPatron('Renewals');
  const [barcode = ''] = await api.availableItems(1);
  await api.post('/circulation/check-out-by-barcode', { itemBarcode: barcode, userBarcode: patron.barcode, servicePointId: SERVICE_POINT });
  await api.post('/manualblocks', { type: 'Manual', desc: 'Renewals stopped', userId: patron.id, borrowing: false, renewals: true, requests: false });
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, `#/users/${patron.id}/loans`);
  const menu = () => page.getByRole('row', { name: new RegExp(barcode) }).getByRole('button', { name: /Actions for/ }).press('Enter');
  await menu();
  await page.getByRole('menuitem', { name: 'Notices to the patron' }).click();
  const notices = page.getByRole('dialog', { name: 'Notices to the patron' });
  await notices.getByRole('row', { name: /Planned .*Due date/ }).first().waitFor();
  await look(page, 'loan-notices');
  await page.keyboard.press('Escape');
  await menu();
  await page.getByRole('menuitem', { name: 'Renew' }).click();
  const refused = page.getByRole('dialog', { name: 'The renewal is refused' });
  await refused.getByText('Patron blocked from renewing').waitFor();
  await refused.getByLabel('Comment').fill('by phone');
  await refused.getByRole('button', { name: 'Override and renew' }).click();
  await page.getByText(/Renewed, due/).waitFor();
  const loanOf = async () => (await api.get<{ loans: { renewalCount?: number; dueDate: string; actionComment?: string }[] }>(`/circulation/loans?query=userId==${patron.id}`)).loans[0];
  expect(await loanOf()).toMatchObject({ renewalCount: 1, actionComment: 'by phone' });

  await menu();
  await page.getByRole('menuitem', { name: 'Change due date' }).click();
  await page.getByRole('dialog').getByLabel('Due date').fill('2031-05-05T18:00');
  await settle(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByRole('row', { name: /May 5, 2031/ }).waitFor();
  expect((await loanOf())?.dueDate).toMatch(/^2031-05-05T18:00:59/);

  await menu();
  await page.getByRole('menuitem', { name: 'New fee/fine' }).click();
  const charging = page.getByRole('dialog', { name: 'New fee/fine' });
  expect(await charging.getByLabel("Item's barcode").inputValue()).toBe(barcode);
  await charging.getByRole('button', { name: 'Charge', exact: true }).click();
  await page.getByText(/Charged:/).waitFor();
  const { accounts } = await api.get<{ accounts: { loanId?: string; barcode?: string }[] }>(`/accounts?query=userId==${patron.id}`);
  expect(accounts).toMatchObject([{ barcode }]);
  expect(accounts[0]?.loanId).toBeDefined();

  await menu();
  await page.getByRole('menuitem', { name: 'Claim returned' }).click();
  await settle(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByRole('row', { name: /Claimed returned/ }).waitFor();
  expect(errors).toEqual([]);
  await context.close();
});

describe.each(SIZES)('on a $name ($width px)', (size) => {
  it('the pages of an account and its dialogs have no problem', async () => {
    const patron = await api.newPatron('Barrier-free account');
    await api.post('/manualblocks', { type: 'Manual', desc: 'A block', userId: patron.id, borrowing: true, renewals: true, requests: false });
    const { page, context, errors } = await openDesk(browser, size);
    await logIn(page);
    await visit(page, '#/users/new');
    await page.getByRole('heading', { name: 'New user' }).waitFor();
    await page.getByRole('button', { name: 'Add an address' }).click();
    await look(page, `${size.name}-user-new`);
    await visit(page, `#/users/${patron.id}/edit`);
    await page.getByRole('heading', { name: 'Edit the account' }).waitFor();
    await look(page, `${size.name}-user-edit`);
    for (const [tab, button] of [['blocks', 'Add a block'], ['notes', 'Add a note'], ['login', 'Set a password'], ['proxies', 'Add a proxy']] as const) {
      await visit(page, `#/users/${patron.id}/${tab}`);
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('dialog').waitFor();
      await look(page, `${size.name}-user-${tab}-dialog`);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await look(page, `${size.name}-user-${tab}`);
    }
    expect(errors).toEqual([]);
    await context.close();
  });
});
