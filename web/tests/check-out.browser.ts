/* The check-out desk beside its scans: a payment, a due date, a barcode that was misread. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, logIn, openBrowser, openDesk, scan, SERVICE_POINT } from './desk.ts';
import { look, SIZES } from './look.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

const focused = (page: Page) => page.evaluate(() => document.activeElement?.closest('form')?.getAttribute('aria-label') ?? document.activeElement?.tagName);

async function charge(userId: string, amount: number): Promise<void> {
  const { feefines } = await api.get<{ feefines: { id: string; feeFineType: string; ownerId: string }[] }>('/feefines?query=feeFineType=="Damaged item"');
  const type = feefines[0];
  const id = crypto.randomUUID();
  await api.post('/accounts', {
    id, userId, amount, remaining: amount, status: { name: 'Open' }, paymentStatus: { name: 'Outstanding' },
    feeFineId: type?.id, feeFineType: type?.feeFineType, ownerId: type?.ownerId, title: `Charged ${amount}`,
  });
  await api.post('/feefineactions', { accountId: id, userId, typeAction: type?.feeFineType, amountAction: amount, balance: amount, dateAction: new Date().toISOString(), source: 'Test' });
}

const remaining = async (userId: string) => {
  const { accounts } = await api.get<{ accounts: { remaining: number }[] }>(`/accounts?query=userId==${userId}`);
  return accounts.map((account) => account.remaining).sort((one, other) => one - other);
};

/** The first closed day from tomorrow on, within two months. */
async function closedDay(): Promise<string | undefined> {
  const day = (ahead: number) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10);
  const { dates } = await api.get<{ dates: { date: string; open: boolean }[] }>(`/calendar/dates/${SERVICE_POINT}/all-openings?startDate=${day(1)}&endDate=${day(60)}&includeClosed=true&limit=100`);
  return dates.find((one) => !one.open)?.date;
}

describe.each(SIZES)('on a $name ($width px)', (size) => {
  it('a patron pays one of two fees without leaving the desk', async () => {
    const patron = await api.newPatron('Paying');
    await charge(patron.id, 4);
    await charge(patron.id, 6);
    const { page, context, errors } = await openDesk(browser, size);
    await logIn(page);
    await scan(page, patron.barcode);
    await page.getByRole('region', { name: 'Patron', exact: true }).getByText('$10.00').waitFor();
    await page.getByRole('button', { name: 'Pay', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Pay' });
    await dialog.getByText('Owed: $10.00').waitFor();
    await dialog.getByText('Damaged item: $6.00').click();
    await dialog.getByText('Owed: $4.00').waitFor();
    await look(page, `${size.name}-check-out-choose-fees`);
    await dialog.getByRole('button', { name: 'Pay', exact: true }).click();
    await expect.poll(() => dialog.getByLabel('Amount').inputValue()).toBe('4.00');
    await look(page, `${size.name}-check-out-pay`);
    await dialog.getByRole('button', { name: 'Pay', exact: true }).click();
    await expect.poll(() => remaining(patron.id)).toEqual([0, 6]);
    await page.getByRole('region', { name: 'Patron', exact: true }).getByText('$6.00').waitFor();
    await expect.poll(() => focused(page)).toBe('Item');
    await look(page, `${size.name}-check-out-paid`);
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a closed day is named in the month below a due date, and a day is chosen by keys', async () => {
    const closed = await closedDay();
    if (closed === undefined) throw new Error('the sample library is never closed');
    const patron = await api.newPatron('Dated');
    const { page, context, errors } = await openDesk(browser, size);
    await logIn(page);
    await scan(page, patron.barcode);
    await page.getByRole('link', { name: /Dated/ }).waitFor();
    await page.getByRole('button', { name: /Special due date/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Special due date' });
    const field = dialog.getByLabel(/^Due date/);
    await field.fill(`${closed}T18:00`);
    await dialog.getByText('The service point is closed on that day.').waitFor();
    const day = dialog.getByRole('button', { name: new RegExp(`\\b${Number(closed.slice(8))}, \\d{4}, closed`) });
    await expect.poll(() => day.getAttribute('aria-pressed')).toBe('true');
    await look(page, `${size.name}-check-out-due-date`);
    await day.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    const next = new Date(Date.parse(closed) + 86_400_000).toISOString().slice(0, 10);
    await expect.poll(() => field.inputValue()).toBe(`${next}T18:00`);
    expect(errors).toEqual([]);
    await context.close();
  });
});

it('a barcode with a wrong check digit is asked about where staff want that', async () => {
  const patron = await api.newPatron('Misread');
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await page.getByRole('button', { name: /your settings/ }).click();
  await page.getByText('Ask about barcodes with a wrong check digit').click();
  await page.getByRole('button', { name: 'Close' }).click();
  await scan(page, patron.barcode);
  await page.getByRole('link', { name: /Misread/ }).waitFor();
  await scan(page, '39999000000017');
  const dialog = page.getByRole('dialog', { name: 'The check digit is wrong' });
  await dialog.waitFor();
  await look(page, 'desk-check-digit');
  // The safe default has the focus; keys of the scan itself do not answer.
  await page.waitForTimeout(400);
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('tr.row').getAttribute('data-state')).toBe('cancelled');
  await expect.poll(() => focused(page)).toBe('Item');
  expect(errors).toEqual([]);
  await context.close();
});

it('the desks are read from right to left in Arabic, and what has no translation is in English', async () => {
  const patron = await api.newPatron('Mirrored');
  const [barcode = ''] = await api.availableItems(1);
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await page.getByRole('button', { name: /your settings/ }).click();
  await page.getByLabel('Language').selectOption({ label: 'العربية' });
  await expect.poll(() => page.evaluate(() => [document.documentElement.dir, document.documentElement.lang])).toEqual(['rtl', 'ar']);
  await page.keyboard.press('Escape');
  await expect.poll(() => focused(page)).toBe('المستفيد');
  await scan(page, patron.barcode);
  await page.getByRole('link', { name: /Mirrored/ }).waitFor();
  await scan(page, barcode);
  await expect.poll(() => page.locator('tr.row').getAttribute('data-state')).toBe('done');
  await page.getByText('نسخة واحدة').waitFor();
  await look(page, 'desk-arabic-check-out');
  await page.keyboard.press('Alt+R');
  await expect.poll(() => focused(page)).toBe('النسخة');
  await scan(page, barcode);
  await expect.poll(() => page.locator('tr.row').getAttribute('data-state')).toBe('done');
  await look(page, 'desk-arabic-check-in');
  await page.evaluate(() => (location.hash = '#/users'));
  await page.getByLabel('Name, barcode, username or e-mail').or(page.getByRole('searchbox')).first().waitFor();
  await look(page, 'desk-arabic-users');
  expect(errors).toEqual([]);
  await context.close();
});
