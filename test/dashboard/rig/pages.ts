// Opens a view in a browser, over a server that is asked nothing hard; what tests of the pages do there.

import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { ApiKey } from '../../../dashboard/pages/words/kube.ts';
import { builtCheckout } from '../../cluster/checkout.ts';
import { type Look, openChromium, type Visitor } from '../browser/chromium.ts';
import { openView, type Shot } from './views.ts';

const atDesk = { screen: 'wide', colorScheme: 'light' } as const;

/** Starts a browser for the tests of this file, over the pages as they are built. @returns opens a view, which is closed behind its test. */
export function makeOpen(): (
  path: string,
  rig?: Shot['rig'],
  how?: Partial<Look> & Pick<Shot, 'isLoading'>,
) => Promise<Page> {
  let pages: string;
  let browser: Browser;
  let visitor: Visitor | undefined;
  beforeAll(async () => {
    pages = join(await builtCheckout(), 'dashboard');
    browser = await openChromium();
  }, 120_000);
  afterEach(async () => {
    // What is still fetched for a page that nobody looks at any more fails when it is closed, and is no fault of a test.
    await visitor?.page.unrouteAll({ behavior: 'ignoreErrors' });
    await visitor?.close();
    visitor = undefined;
  });
  afterAll(() => browser?.close());
  return async (path, rig = {}, { isLoading, ...look } = {}) => {
    visitor = await openView(
      browser,
      { path, rig, ...(isLoading && { isLoading }) },
      { ...atDesk, ...look },
      pages,
    );
    return visitor.page;
  };
}

/** Every tab of this browser counts as seen, whatever is in front of it. */
export async function show(page: Page, state: 'visible' | 'hidden'): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' }); document.dispatchEvent(new Event('visibilitychange'))`,
  );
}

/** The front one is the last. */
export const dialogOf = (page: Page) => page.getByRole('dialog').last();
/** Of the front dialog. */
export const click = (page: Page, name: string) => dialogOf(page).getByRole('button', { name }).click();
export const yamlOf = (page: Page) => dialogOf(page).getByRole('region', { name: 'YAML' }).innerText();

/** What the API server holds. */
export const specOf = async (page: Page, path: string) =>
  (
    (await page.evaluate(
      `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/${path.replace('/', '/apikeys/')}').then((it) => it.json())`,
    )) as { readonly spec: ApiKey['spec'] }
  ).spec;

/** Without a load, as by a link. */
export const goTo = (page: Page, path: string) =>
  page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`);

/** An entry of the catalog; @param verdicts by client dialect. */
export function modelOf(id: string, verdicts: Readonly<Record<string, string>>) {
  const dialects = Object.entries(verdicts).map(([name, verdict]) => [name, { verdict, lostFields: [] }]);
  return { id, owned_by: 'platform', own: false, dialects: Object.fromEntries(dialects) };
}

interface Sent {
  readonly metadata: { readonly name?: string };
  readonly spec: object;
}

/** The changes that the page has sent since this call, as they come. */
export function changesOf(
  page: Page,
): { readonly method: string; readonly path: string; readonly body: Sent }[] {
  const sent: { method: string; path: string; body: Sent }[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith('/api/kube') && request.method() !== 'GET')
      sent.push({ method: request.method(), path: pathname + search, body: request.postDataJSON() });
  });
  return sent;
}
