// Can everybody use every view: by keyboard alone, with a screen reader, in the dark, on a phone, and where the network goes away?

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { findBarriers } from './axe.ts';
import { LOOKS, settled, type Visitor } from './chromium.ts';
import { heading, type Stage } from './stage.ts';

/** A third of the views in `npm test`, each once: `npm run e2e -- dashboard-views` has all of them in all looks. */
const looks = LOOKS.slice(0, 2);
const views = [
  ['/', 'Overview'],
  ['/requests', 'Requests'],
  ['/keys', 'Keys'],
  ['/keys/new', 'Create key'],
  ['/keys/team-a/known', /known/],
  ['/models', 'Models'],
  ['/models/plan?model=m', 'Plan a request'],
  ['/providers?namespace=*', 'Providers and routes'],
  ['/providers/new', 'Add provider'],
  ['/routes/new', 'Add route'],
  ['/providers/team-a/listed', /listed/],
  ['/routes/team-a/listed', /listed/],
  ['/nothing/here', 'Page not found'],
] as const;

/** @param thirds How many thirds of the views are looked at for what keeps people out. */
export function viewsSuite(stage: () => Stage, thirds: number): void {
  describe('nothing keeps anybody out of', () => {
    const visitors: Visitor[] = [];
    beforeAll(async () => {
      visitors.push(...(await Promise.all(looks.map((look) => stage().enter('editor', look)))));
    });
    afterAll(async () => {
      await Promise.all(visitors.map((visitor) => visitor.close()));
    });

    const played = views
      .map(([path, title], index) => ({ path, title, look: index % looks.length, third: index % 3 }))
      .filter(({ third }) => third < thirds);
    test.each(played)('$path', async ({ path, title, look }) => {
      const { page, complaints } = visitors[look] as Visitor;
      await page.goto(`${stage().url}${path}`);
      await heading(page, title);
      await settled(page);
      expect(await findBarriers(page), JSON.stringify(looks[look])).toEqual([]);
      expect(complaints).toEqual([]);
    });

    test('the page to sign in', async () => {
      const { page, close } = await stage().visit({ screen: 'phone', colorScheme: 'light' });
      await page.goto(stage().url);
      await heading(page, 'Sign in');
      expect(await findBarriers(page)).toEqual([]);
      await close();
    });
  });

  test('a key is made without a mouse, from signing in to the key', async () => {
    const { page, close } = await stage().visit();
    await page.goto(`${stage().url}/keys`);
    await heading(page, 'Sign in');
    await reach(page, 'Token');
    await page.keyboard.insertText(stage().people.editor);
    await page.keyboard.press('Enter');
    await heading(page, 'Keys');
    await enabled(page, 'Create key');
    await reach(page, 'Create key');
    await page.keyboard.press('Enter');
    await heading(page, 'Create key');
    // Who comes to a view by the keyboard is at its heading.
    await untilAt(page, 'Create key');
    await enabled(page, 'Create key');
    await reach(page, /^Name\b/);
    await page.keyboard.type('by-keyboard');
    await reach(page, 'Create key');
    await page.keyboard.press('Enter');
    // And then where the key is.
    await untilAt(page, 'Key “by-keyboard” (shown only now)');
    await page.getByText('Live', { exact: true }).waitFor();
    await reach(page, 'Copy key');
    await reach(page, /^Done/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Leave without the key?' }).waitFor();
    await reach(page, 'Leave');
    await page.keyboard.press('Enter');
    await heading(page, /by-keyboard/);
    await close();
  });

  test('without a network the page says so, keeps what it has, and asks again when it is back', async () => {
    const { page, close } = await stage().enter('editor');
    await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
    await page.getByRole('link', { name: 'known' }).waitFor();
    await page.context().setOffline(true);
    await page.getByText('You are offline').waitFor();
    expect(await page.getByRole('link', { name: 'known' }).isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Providers and routes' }).click();
    await page.getByText('The dashboard cannot be reached. Check your connection.').first().waitFor();
    await page.context().setOffline(false);
    await page.getByRole('table', { name: 'Providers' }).waitFor();
    await page.getByText('You are offline').waitFor({ state: 'detached' });
    await close();
  });
}

/** By Tab alone. @throws where it is not among the next sixty that can be reached. */
async function reach(page: Page, name: string | RegExp): Promise<void> {
  const passed: string[] = [];
  for (let count = 0; count < 60; count += 1) {
    await page.keyboard.press('Tab');
    const at = await focused(page);
    if (typeof name === 'string' ? at === name : name.test(at)) return;
    passed.push(at);
  }
  throw new Error(`Tab does not lead to ${name}, but to: ${passed.join(' | ')}`);
}

/** The page moves the focus there by itself. */
async function untilAt(page: Page, text: string): Promise<void> {
  await vi.waitFor(async () => expect(await focused(page)).toBe(text), { timeout: 20_000 });
}

/** Its label, or else its text. */
async function focused(page: Page): Promise<string> {
  return await page.evaluate(`(() => {
    const at = document.activeElement;
    const label = at.labels?.[0]?.textContent ?? at.getAttribute('aria-label') ?? at.textContent;
    return label.trim();
  })()`);
}

async function enabled(page: Page, name: string): Promise<void> {
  await page.locator('button:not([aria-disabled])', { hasText: name }).waitFor();
}
