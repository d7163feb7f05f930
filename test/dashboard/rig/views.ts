// Which views are there, in which states, and what is done to come to them?

import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { type Look, openVisitor, settled, type Visitor } from '../browser/chromium.ts';
import { type RigOptions, startRig } from './server.ts';

export interface Shot {
  readonly path: string;
  readonly rig?: Partial<RigOptions>;
  /** What is done before the picture is taken. */
  readonly act?: (page: Page) => Promise<void>;
  /** Something of it never comes. */
  readonly isLoading?: true;
}

const click = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
export const USUAL: RigOptions = {
  pages: fileURLToPath(new URL('../../../dist/dashboard', import.meta.url)),
  port: 0,
  keys: 240,
  without: [],
  isSignedOut: false,
  failing: [],
  hasNothing: false,
};
const reader = {
  without: [
    'create apikeys',
    'patch apikeys',
    'delete apikeys',
    'create providers',
    'create secrets',
    'create modelroutes',
    'patch modelroutes',
    'delete providers',
    'delete modelroutes',
  ],
};

export const SHOTS: Readonly<Record<string, Shot>> = {
  'sign-in': { path: '/', rig: { isSignedOut: true } },
  'sign-in-refused': {
    path: '/keys',
    rig: { isSignedOut: true },
    async act(page) {
      await page.getByLabel('Token').last().fill('abc');
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByText('Kubernetes does not know').waitFor();
    },
  },
  requests: { path: '/requests' },
  'requests-empty': { path: '/requests?model=nobody', rig: { hasNothing: true } },
  'request-saved': { path: '/requests?request=req_c89baf3f09b0e4ece4c401eb000003' },
  keys: { path: '/keys' },
  loading: { path: '/keys', rig: { hanging: ['namespaces'] }, isLoading: true },
  'namespace-asked': { path: '/keys', rig: { without: ['list namespaces'] } },
  'keys-searched': { path: '/keys?q=ci-bot&sort=spend&order=desc&namespace=team-a' },
  'keys-empty': { path: '/keys', rig: { hasNothing: true } },
  'keys-no-rights': { path: '/keys?namespace=team-a', rig: reader },
  'keys-uncounted': { path: '/keys', rig: { hasLedger: false } },
  'keys-failed': { path: '/keys', rig: { failing: ['rows'] } },
  key: { path: '/keys/team-a/ci-bot-0' },
  'key-uncounted': { path: '/keys/team-a/ci-bot-0', rig: { hasLedger: false } },
  'key-exhausted': { path: '/keys/research/agent-2', rig: reader },
  'key-rejected': { path: '/keys/research/ci-bot-8' },
  'key-edit': { path: '/keys/team-a/ci-bot-0', act: click('Edit') },
  'key-rotate': { path: '/keys/team-a/ci-bot-0', act: click('Rotate') },
  'key-delete': { path: '/keys/team-a/ci-bot-0', act: click('Delete') },
  'key-yaml': { path: '/keys/team-a/ci-bot-0', act: click('View as YAML') },
  'key-gone': { path: '/keys/team-a/nobody' },
  'new-key': { path: '/keys/new?namespace=team-a' },
  'new-key-problems': {
    path: '/keys/new',
    async act(page) {
      await page.getByPlaceholder('ci-bot').fill('Not A Name');
      await page.getByText(/^Owner, expiry/).click();
      await page.getByLabel('Dollars').fill('ten');
      await page.getByRole('button', { name: 'Create key' }).click();
    },
  },
  'new-key-left': {
    path: '/keys/new?namespace=team-a',
    async act(page) {
      await createKey(page);
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Models' }).click();
      await page.getByRole('dialog', { name: 'Leave without the key?' }).waitFor();
    },
  },
  'new-key-ended': {
    path: '/keys/new?namespace=team-a',
    async act(page) {
      await createKey(page);
      await page.evaluate("fetch('/api/session', { method: 'DELETE' })");
      await page.getByRole('link', { name: 'Keys' }).first().focus();
      await page.getByText('Copy the key before you sign in again').waitFor();
    },
  },
  'new-key-made': {
    path: '/keys/new?namespace=team-a',
    async act(page) {
      await createKey(page);
      await page.getByRole('button', { name: 'Test' }).click();
      await page.getByText('total').waitFor();
    },
  },
  overview: { path: '/' },
  'overview-hour': { path: '/?period=1h' },
  'overview-provider': { path: '/?period=7d&by=provider&measure=tokens' },
  'overview-of-one': { path: '/?namespace=team-a' },
  'overview-empty': { path: '/', rig: { hasNothing: true } },
  'overview-failed': { path: '/', rig: { failing: ['ledger'] } },
  models: { path: '/models?namespace=team-a' },
  'models-empty': { path: '/models?namespace=team-a', rig: { hasNothing: true } },
  plan: {
    path: '/models/plan?namespace=team-a&model=penstock/large&dialect=messages',
    async act(page) {
      await page.getByRole('button', { name: 'Plan' }).click();
      await page.getByText('gateway-7f9c-1').waitFor();
    },
  },
  playground: { path: '/playground' },
  'playground-answered': {
    path: '/playground',
    async act(page) {
      await page.getByLabel('Your key').fill('psk_own');
      await page.getByLabel('Compare with').selectOption('llama');
      await page.getByLabel('Prompt', { exact: true }).fill('Say hello.');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText(/total/).nth(1).waitFor();
    },
  },
  providers: { path: '/providers' },
  'providers-empty': { path: '/providers', rig: { hasNothing: true } },
  provider: { path: '/providers/team-a/own-models' },
  'provider-partly': { path: '/providers/platform/anthropic' },
  route: { path: '/routes/platform/large' },
  'provider-edit': { path: '/providers/team-a/own-models', act: click('Edit') },
  'route-edit': { path: '/routes/platform/large', act: click('Edit') },
  'route-suspend': { path: '/routes/platform/large', act: click('Suspend') },
  'new-route': { path: '/routes/new?namespace=team-a' },
  'new-route-problems': { path: '/routes/new?namespace=team-a', act: click('Add route') },
  'new-provider': { path: '/providers/new?namespace=team-a' },
  'new-provider-tested': {
    path: '/providers/new?namespace=team-a',
    async act(page) {
      await page.getByLabel(/^Address/).fill('https://models.example.com/v1');
      await page.getByRole('button', { name: 'Test connection' }).click();
      await page.getByText('Works', { exact: true }).waitFor();
    },
  },
  'new-provider-problems': { path: '/providers/new?namespace=team-a', act: click('Add provider') },
  'new-provider-yaml': {
    path: '/providers/new?namespace=team-a',
    async act(page) {
      await fillProvider(page);
      await page.getByRole('button', { name: 'View as YAML' }).click();
    },
  },
  'new-provider-made': {
    path: '/providers/new?namespace=team-a',
    async act(page) {
      await fillProvider(page);
      await page.getByRole('button', { name: 'Add provider' }).click();
      await page.getByRole('heading', { name: 'Provider added' }).waitFor();
    },
  },
  'not-found': { path: '/nothing/here' },
};

async function createKey(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: /^Name/ }).fill('ci-bot');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByTestId('key').waitFor();
}

async function fillProvider(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: /^Name/ }).fill('home-models');
  await page.getByLabel(/^Address/).fill('https://models.example.com/v1');
  await page.getByLabel(/^Key/).fill('sk-own-key');
  await page.getByLabel(/^Model id/).fill('own/llama-4');
  await page.getByLabel(/^Upstream model/).fill('llama-4');
}

/** Come to and settled; `close` ends it and its rig. @param pages the folder that they were built to. */
export async function openView(
  browser: Browser,
  { path, rig, act, isLoading }: Shot,
  look: Look,
  pages: string = USUAL.pages,
): Promise<Visitor> {
  const server = await startRig({ ...USUAL, pages, ...rig });
  const visitor = await openVisitor(browser, look);
  const { page } = visitor;
  const close = async () => {
    await visitor.close();
    await server.close();
  };
  try {
    await page.goto(`${server.url}${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    if (isLoading) return { ...visitor, close };
    await settled(page);
    await act?.(page);
    await settled(page);
  } catch (error) {
    await close();
    throw error;
  }
  return { ...visitor, close };
}
