/* Whoever sets the library up: records, templates with their preview, limits, and permissions of staff. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityProblems } from './axe.ts';
import { Api, type Desk, logIn, openBrowser, openDesk, screenshot } from './desk.ts';

let browser: Browser;
let api: Api;
let desk: Desk;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
  desk = await openDesk(browser);
  await logIn(desk.page);
});
afterAll(() => browser.close());

async function open(page: Page, name: string, heading: string): Promise<void> {
  await page.evaluate((hash) => (location.hash = hash), `#/settings/${name}`);
  await page.getByRole('heading', { name: heading, exact: true }).waitFor();
}

const unique = (name: string) => `${name} ${Math.floor(Math.random() * 1e6)}`;

describe('the settings', () => {
  it('keep a loan policy, with the fields that apply and no others', async () => {
    const { page } = desk;
    const name = unique('Ten days');
    await open(page, 'loan-policies', 'Loan policies');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    const editor = page.getByRole('dialog', { name: 'New: Loan policies' });
    await editor.getByRole('button', { name: /Save.*Name is missing/ }).waitFor();
    // By keys alone: the name has the focus.
    await page.waitForTimeout(300);
    await page.keyboard.type(name);
    await editor.getByLabel('Loan period', { exact: false }).first().fill('10');
    await editor.getByLabel(/^Unit of Loan period(?! for)/).selectOption('Days');
    await editor.getByText('Loans may be renewed').click();
    await editor.getByLabel(/^Number of renewals/).fill('2');
    await editor.getByLabel(/^Renew from/).selectOption('SYSTEM_DATE');
    await screenshot(page, 'settings-loan-policy');
    expect(await accessibilityProblems(page)).toEqual([]);
    await editor.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(`${name} is saved.`).waitFor();
    const find = async () => (await api.get<{ loanPolicies: Record<string, unknown>[] }>(`/loan-policy-storage/loan-policies?query=${encodeURIComponent(`name=="${name}"`)}`)).loanPolicies;
    expect(await find()).toMatchObject([
      { loanable: true, renewable: true, loansPolicy: { profileId: 'Rolling', period: { duration: 10, intervalId: 'Days' } }, renewalsPolicy: { numberAllowed: 2, renewFromId: 'SYSTEM_DATE' } },
    ]);

    await page.getByRole('button', { name, exact: true }).click();
    const again = page.getByRole('dialog', { name });
    await again.getByText('Items may be lent').click();
    await again.getByRole('button', { name: 'Save', exact: true }).click();
    // The message of the first save may still be there.
    await again.waitFor({ state: 'detached' });
    const [changed] = await find();
    expect(changed).toMatchObject({ loanable: false });
    expect(changed?.['loansPolicy']).toBeUndefined();

    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('dialog', { name }).getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: `Delete ${name}` }).click();
    await page.getByText(`${name} is deleted.`).waitFor();
    expect(await find()).toEqual([]);
  });

  it('keep a notice policy with its notices', async () => {
    const { page } = desk;
    const name = unique('Notices');
    await open(page, 'notice-policies', 'Notice policies');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    const editor = page.getByRole('dialog');
    await editor.getByLabel('Name').fill(name);
    await editor.getByRole('group', { name: 'Loan notices', exact: true }).getByRole('button', { name: 'Add a notice' }).click();
    const entry = editor.getByRole('group', { name: 'Loan notices, entry 1' });
    await entry.getByLabel(/^Template/).selectOption({ index: 1 });
    await entry.getByLabel(/^When/).selectOption('Before');
    await entry.getByLabel('How long before or after', { exact: false }).first().fill('3');
    await editor.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(`${name} is saved.`).waitFor();
    const { patronNoticePolicies } = await api.get<{ patronNoticePolicies: unknown[] }>(`/patron-notice-policy-storage/patron-notice-policies?query=${encodeURIComponent(`name=="${name}"`)}`);
    expect(patronNoticePolicies).toMatchObject([{ loanNotices: [{ sendOptions: { sendWhen: 'Due date', sendHow: 'Before', sendBy: { duration: 3, intervalId: 'Days' } } }], requestNotices: [] }]);
  });

  it('show a notice as it will be sent while its template is written', async () => {
    const { page } = desk;
    await open(page, 'notice-templates', 'Notice templates');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    const editor = page.getByRole('dialog');
    await editor.getByLabel('Name').fill('Preview');
    await editor.getByLabel('Subject').fill('Due: {{item.title}}');
    await editor.getByLabel('Body').fill('<p>Dear {{user.firstName}}, <script>alert(1)</script>bring back <b>{{item.title}}</b></p>');
    await editor.getByText('Due: Culture and Anarchy').waitFor();
    const preview = editor.locator('.slip-preview');
    await expect.poll(() => preview.textContent()).toContain('bring back Culture and Anarchy');
    expect(await preview.locator('script').count()).toBe(0);
    await screenshot(page, 'settings-notice-template');
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.keyboard.press('Escape');
  });

  it('show a notice with the values of a real fee', async () => {
    const { page } = desk;
    const patron = await api.newPatron('Charged');
    const { feefines } = await api.get<{ feefines: { id: string; feeFineType: string; ownerId: string }[] }>('/feefines?query=feeFineType=="Damaged item"');
    const [type] = feefines;
    const id = crypto.randomUUID();
    await api.post('/accounts', {
      id, userId: patron.id, amount: 7.5, remaining: 7.5, status: { name: 'Open' }, paymentStatus: { name: 'Outstanding' },
      feeFineId: type?.id, feeFineType: type?.feeFineType, ownerId: type?.ownerId,
    });
    await api.post('/feefineactions', { accountId: id, userId: patron.id, typeAction: type?.feeFineType, amountAction: 7.5, balance: 7.5, dateAction: new Date().toISOString(), source: 'Test' });
    await open(page, 'notice-templates', 'Notice templates');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    const editor = page.getByRole('dialog');
    await editor.getByLabel('Subject').fill('Your fee');
    await editor.getByLabel('Body').fill('<p>{{user.lastName}}: {{feeCharge.type}}, {{feeCharge.amount}}</p>');
    await editor.getByLabel('Values of').selectOption({ label: 'A fee/fine' });
    await editor.getByLabel('Patron', { exact: true }).fill(patron.barcode);
    await expect.poll(() => editor.locator('.slip-preview').textContent()).toBe('Charged: Damaged item, 7.50');
    await screenshot(page, 'settings-notice-preview-fee');
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.keyboard.press('Escape');
  });

  it('keep limits that block patrons of a group', async () => {
    const { page } = desk;
    await open(page, 'block-limits', 'Patron block limits');
    const charged = page.getByLabel('Maximum number of items charged out');
    await charged.fill('70');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The limits are saved.').waitFor();
    const limits = () => api.get<{ patronBlockLimits: { value: number }[] }>('/patron-block-limits');
    expect((await limits()).patronBlockLimits.map((one) => one.value)).toEqual([70]);
    await charged.fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect.poll(async () => (await limits()).patronBlockLimits.length).toBe(0);
  });

  it('say why a record cannot be deleted', async () => {
    const { page } = desk;
    await open(page, 'patron-groups', 'Patron groups');
    await page.getByRole('button', { name: 'faculty', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete faculty' }).click();
    await page.getByRole('dialog').getByRole('alert').first().waitFor();
    await page.keyboard.press('Escape');
    const { usergroups } = await api.get<{ usergroups: { group: string }[] }>('/groups?limit=100');
    expect(usergroups.map((one) => one.group)).toContain('faculty');
  });
});

describe('the calendar', () => {
  it('closes days that are dragged over, and opens them again', async () => {
    const { page } = desk;
    const name = unique('Moving');
    await open(page, 'calendar', new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(new Date()));
    // Two months on, so that no other exception is in the way.
    const shown = page.locator('#month-title');
    for (const _ of ['', '']) {
      const before = await shown.textContent();
      await page.getByRole('button', { name: 'Next' }).click();
      await expect.poll(() => shown.textContent()).not.toBe(before);
    }
    const day = (number: number) => page.locator('.day').nth(number - 1);
    await expect.poll(() => day(12).textContent()).toMatch(/\d\d:\d\d|closed/);
    await day(12).hover();
    await page.mouse.down();
    await day(13).hover();
    await day(14).hover();
    await page.mouse.up();
    const dialog = page.getByRole('dialog', { name: 'Exception' });
    await dialog.getByLabel('Name').fill(name);
    expect(await dialog.getByLabel('First day').inputValue()).toMatch(/-12$/);
    expect(await dialog.getByLabel('Last day').inputValue()).toMatch(/-14$/);
    await screenshot(page, 'settings-calendar-exception');
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await expect.poll(() => page.locator('.day', { hasText: name }).count()).toBe(3);

    // By keys.
    await day(12).focus();
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await expect.poll(() => page.locator('.day', { hasText: name }).count()).toBe(0);
    expect(desk.errors).toEqual([]);
  });
});

describe('permissions of staff', () => {
  it('are given by sets, and decide what a colleague sees', async () => {
    const { page } = desk;
    const set = unique('Returns');
    await open(page, 'permissions', 'Permission sets');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    const editor = page.getByRole('dialog', { name: 'New permission set' });
    await editor.getByLabel('Name').fill(set);
    for (const permission of ['circulation.check-in-by-barcode.post', 'circulation.rules.get', 'users.item.get', 'perms.users.get', 'inventory-storage.service-points.collection.get', 'circulation-storage.loan-policies.collection.get']) {
      await editor.getByLabel('Find a permission').fill(permission);
      await editor.getByText(permission, { exact: true }).first().click();
    }
    await editor.getByText('6 are in the set.').waitFor();
    await screenshot(page, 'settings-permission-set');
    expect(await accessibilityProblems(page)).toEqual([]);
    await editor.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: set, exact: true }).waitFor();

    const surname = unique('Colleague');
    const colleague = await api.newPatron(surname);
    await api.post('/authn/credentials', { userId: colleague.id, password: 'A-good-password-1' });
    await page.getByRole('button', { name: 'Give permissions to a user' }).click();
    const finder = page.getByRole('dialog');
    await finder.getByRole('searchbox').fill(surname);
    await finder.getByRole('button', { name: new RegExp(surname) }).first().click();
    const given = page.getByRole('dialog', { name: new RegExp(`Permissions of ${surname}`) });
    await given.getByLabel('Permission set').selectOption({ label: set });
    await given.getByRole('button', { name: 'Give', exact: true }).click();
    await given.getByText('contains 6 permissions').waitFor();
    await page.keyboard.press('Escape');

    const other = await openDesk(browser);
    await logIn(other.page, `test-${colleague.barcode}`, 'A-good-password-1');
    const pages = await other.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
    expect(pages).toEqual(['Check in', 'Circulation settings']);
    await open(other.page, 'loan-policies', 'Loan policies');
    await other.page.getByRole('button', { name: /New.*permission/ }).waitFor();
    await other.context.close();

    await page.getByRole('button', { name: new RegExp(surname) }).click();
    await page.getByRole('button', { name: `Take ${set} away` }).click();
    await page.getByText('This user has no permissions.').waitFor();
    await page.keyboard.press('Escape');
    expect(desk.errors).toEqual([]);
  });
});
