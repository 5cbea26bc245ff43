/* Fees and fines of a user, from the charge to the refund. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, openBrowser, openDesk, logIn } from './desk.ts';
import { look, SIZES } from './look.ts';

let browser: Browser;
let api: Api;
beforeAll(async () => {
  browser = await openBrowser();
  api = await Api.logIn();
});
afterAll(() => browser.close());

const visit = (page: Page, address: string) => page.evaluate((hash) => (location.hash = hash), address);
const owedOf = async (userId: string) => {
  const { accounts } = await api.get<{ accounts: { remaining: number; paymentStatus: { name: string } }[] }>(`/accounts?query=userId==${userId} sortby metadata.createdDate`);
  return accounts.map((account) => `${account.remaining} ${account.paymentStatus.name}`);
};

/** Charges by the API what the test starts with. */
async function charge(userId: string, amount: number): Promise<string> {
  const { feefines } = await api.get<{ feefines: { id: string; feeFineType: string; ownerId: string }[] }>('/feefines?query=feeFineType=="Damaged item"');
  const type = feefines[0];
  const id = crypto.randomUUID();
  await api.post('/accounts', {
    id, userId, amount, remaining: amount, status: { name: 'Open' }, paymentStatus: { name: 'Outstanding' },
    feeFineId: type?.id, feeFineType: type?.feeFineType, ownerId: type?.ownerId, title: `Charged ${amount}`,
  });
  await api.post('/feefineactions', { accountId: id, userId, typeAction: type?.feeFineType, amountAction: amount, balance: amount, dateAction: new Date().toISOString(), source: 'Test' });
  return id;
}

it('a fee is charged, paid in part, refused when too much is paid, and refunded', async () => {
  const patron = await api.newPatron('Fees');
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, `#/users/${patron.id}/fees`);
  await page.getByRole('button', { name: 'New fee/fine' }).click();
  const charging = page.getByRole('dialog', { name: 'New fee/fine' });
  // The owner of the service point and the amount of the type are suggested.
  await expect.poll(() => charging.getByLabel('Owner').locator('option:checked').textContent()).toBe('Circulation of Vellumton');
  await charging.getByLabel('Fee/fine').selectOption({ label: 'Damaged item' });
  expect(await charging.getByLabel('Amount').inputValue()).toBe('15.00');
  await charging.getByLabel("Item's barcode").fill('unknown-item');
  await charging.getByRole('button', { name: 'Charge', exact: true }).click();
  await charging.getByRole('alert').getByText('No item has unknown-item.').waitFor();
  const [barcode = ''] = await api.availableItems(1);
  await charging.getByLabel("Item's barcode").fill(barcode);
  await charging.getByLabel('Comment for staff').fill('torn cover');
  await charging.getByRole('button', { name: 'Charge and pay now' }).click();

  const paying = page.getByRole('dialog', { name: 'Pay' });
  await paying.getByText('Owed: $15.00').waitFor();
  expect(await paying.getByLabel('Amount').inputValue()).toBe('15.00');
  // The server's own refusal is shown before anything is sent.
  await paying.getByLabel('Amount').fill('20');
  await paying.getByRole('status').getByText('Requested amount exceeds remaining amount').waitFor();
  expect(await owedOf(patron.id)).toEqual(['15 Outstanding']);
  await paying.getByLabel('Amount').fill('10.50');
  await paying.getByText('Remaining afterwards: $4.50').waitFor();
  await paying.getByLabel('Payment method').selectOption('Cash');
  await paying.getByLabel(/Transaction information/).fill('receipt 7');
  await paying.getByLabel('Comment for the patron').fill('thank you');
  await page.waitForTimeout(300);
  await paying.getByRole('button', { name: 'Pay' }).press('Enter');
  await page.getByRole('status').getByText('Paid: $10.50').waitFor();
  expect(await owedOf(patron.id)).toEqual(['4.5 Paid partially']);

  // The view of the fee has its history, newest first.
  await page.getByRole('link', { name: 'Damaged item' }).click();
  const history = page.getByRole('group', { name: 'History' });
  await history.getByRole('row').nth(2).waitFor();
  const rows = await history.getByRole('row').allTextContents();
  expect(rows[1]).toMatch(/Paid partially\$10\.50\$4\.50Cash, receipt 7.*Circ Desk 1To the patron: thank you/);
  expect(rows[2]).toMatch(/Damaged item\$15\.00\$15\.00.*torn cover/);

  // What was partly paid is not cancelled; the button says why. It is refunded, and owed again.
  const cancelling = page.getByRole('button', { name: /Cancel as error/ });
  expect(await cancelling.textContent()).toContain('partly paid');
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  const refunding = page.getByRole('dialog', { name: 'Refund' });
  await refunding.getByText('Can be refunded: $10.50').waitFor();
  expect(await refunding.getByLabel('Reason').locator('option:checked').textContent()).toBe('Overpaid');
  await refunding.getByRole('button', { name: 'Refund' }).click();
  await page.getByRole('status').getByText('Refunded: $10.50').waitFor();
  await expect.poll(() => owedOf(patron.id)).toEqual(['15 Refunded fully']);
  expect(errors).toEqual([]);
  await context.close();
});

it('several fees are settled at once, and one is waived, transferred or cancelled from its row', async () => {
  const patron = await api.newPatron('Several');
  for (const amount of [3, 4, 5, 6, 7]) await charge(patron.id, amount);
  const { page, context, errors } = await openDesk(browser);
  await logIn(page);
  await visit(page, `#/users/${patron.id}/fees`);
  const choose = async (amount: number) => {
    const box = page.getByRole('checkbox', { name: `Choose Damaged item Charged ${amount}` });
    // A key that comes while the table is drawn anew is lost with the row.
    await expect.poll(async () => (await box.isChecked()) || (await box.press('Space'), box.isChecked())).toBe(true);
  };
  await page.getByRole('row', { name: /Charged 7/ }).waitFor();
  expect(await page.getByRole('group', { name: /Actions on the chosen/ }).getByRole('button').count()).toBe(0);

  await choose(3);
  await choose(4);
  await page.getByText('2 fees and fines', { exact: true }).waitFor();
  await page.getByRole('group', { name: /Actions on the chosen/ }).getByRole('button', { name: 'Pay' }).press('Enter');
  const paying = page.getByRole('dialog', { name: 'Pay' });
  await paying.getByText('Owed: $7.00').waitFor();
  await page.waitForTimeout(300);
  await paying.getByRole('button', { name: 'Pay' }).press('Enter');
  await page.getByRole('status').getByText('Paid: $7.00').waitFor();
  await page.getByRole('row', { name: /Charged 3/ }).waitFor({ state: 'detached' });

  for (const [amount, action, submit] of [[5, 'Waive', 'Waive'], [6, 'Transfer', 'Transfer'], [7, 'Cancel as error', 'Cancel the fee/fine']] as const) {
    await page.getByRole('row', { name: new RegExp(`Charged ${amount}`) }).getByRole('button', { name: /Actions for/ }).press('Enter');
    await page.getByRole('menuitem', { name: action }).click();
    const dialog = page.getByRole('dialog', { name: action });
    if (action === 'Cancel as error') {
      // A cancellation needs a comment.
      expect(await dialog.getByRole('button', { name: /Cancel the fee/ }).textContent()).toContain('needs a comment');
      await dialog.getByLabel('Comment for staff').fill('charged to the wrong person');
    }
    await page.waitForTimeout(300);
    await dialog.getByRole('button', { name: submit }).press('Enter');
    await page.getByRole('row', { name: new RegExp(`Charged ${amount}`) }).waitFor({ state: 'detached' });
  }
  expect(await owedOf(patron.id)).toEqual(['0 Paid fully', '0 Paid fully', '0 Waived fully', '0 Transferred fully', '0 Cancelled as error']);
  await page.getByLabel('Status').selectOption('closed');
  await expect.poll(() => page.locator('tr.listed').count()).toBe(5);
  expect(errors).toEqual([]);
  await context.close();
});

describe.each(SIZES)('on a $name ($width px)', (size) => {
  it('the fees, their dialogs and their history have no problem', async () => {
    const patron = await api.newPatron('Barrier-free fees');
    const id = await charge(patron.id, 12.3);
    await api.post(`/accounts/${id}/pay`, { amount: '2.30', userName: 'Test', servicePointId: null, notifyPatron: false, paymentMethod: 'Cash', comments: 'STAFF : in coins' });
    const { page, context, errors } = await openDesk(browser, size);
    await logIn(page);
    await visit(page, `#/users/${patron.id}/fees`);
    await page.getByRole('row', { name: /Charged 12.3/ }).waitFor();
    await look(page, `${size.name}-fees`);
    await page.getByRole('button', { name: 'New fee/fine' }).click();
    await page.getByRole('dialog').getByLabel('Amount').waitFor();
    await look(page, `${size.name}-fees-new`);
    await page.keyboard.press('Escape');
    await visit(page, `#/users/${patron.id}/fees/${id}`);
    await page.getByText('Paid partially').nth(1).waitFor();
    await look(page, `${size.name}-fee`);
    for (const action of ['Pay', 'Refund']) {
      await page.getByRole('button', { name: action, exact: true }).click();
      await page.getByRole('dialog').getByText(/afterwards/).waitFor();
      await look(page, `${size.name}-fees-${action.toLowerCase()}`);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    expect(errors).toEqual([]);
    await context.close();
  });
});
