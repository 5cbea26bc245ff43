/* What every page is looked at for, at the size of a desk and of a phone. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { accessibilityProblems } from './axe.ts';
import { screenshot } from './desk.ts';

export const SIZES = [
  { name: 'desk', width: 1280, height: 720 },
  { name: 'phone', width: 390, height: 844 },
];

/** Pixels that are beside the screen, to which one would have to scroll. */
export const overflow = (page: Page): Promise<number> => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - window.innerWidth));

/** Fails where the page is wider than the screen or axe finds a problem. */
export async function look(page: Page, name: string): Promise<void> {
  await screenshot(page, name);
  expect(await overflow(page), `${name} is wider than the screen`).toBe(0);
  expect(await accessibilityProblems(page), name).toEqual([]);
}
