// Pictures of each view for looking at, and what axe finds in it: light, dark and as narrow as a phone.
//
//   node test/dashboard/rig/shots.ts <folder> [name of a view …]

import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type RigOptions, startRig } from './server.ts';

interface Shot {
  readonly path: string;
  readonly rig?: Partial<RigOptions>;
  /** What is done before the picture is taken. */
  readonly act?: (page: Page) => Promise<void>;
}

const click = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
const usual: RigOptions = {
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

const shots: Readonly<Record<string, Shot>> = {
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
  keys: { path: '/keys' },
  'keys-searched': { path: '/keys?q=ci-bot&sort=spend&order=desc&namespace=team-a' },
  'keys-empty': { path: '/keys', rig: { hasNothing: true } },
  'keys-no-rights': { path: '/keys?namespace=team-a', rig: reader },
  'keys-failed': { path: '/keys', rig: { failing: ['rows'] } },
  key: { path: '/keys/team-a/ci-bot-0' },
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
      await page.getByLabel('Name', { exact: false }).nth(1).fill('Not A Name');
      await page.getByLabel('Dollars').fill('ten');
      await page.getByRole('button', { name: 'Create key' }).click();
    },
  },
  'new-key-made': {
    path: '/keys/new?namespace=team-a',
    async act(page) {
      await page.getByRole('textbox', { name: /^Name/ }).fill('ci-bot');
      await page.getByLabel('Owner').fill('Ada');
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('button', { name: 'Test' }).click();
      await page.getByText('whole after').waitFor();
    },
  },
  overview: { path: '/' },
  'overview-provider': { path: '/?period=7d&by=provider&measure=tokens' },
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
  providers: { path: '/providers' },
  'providers-empty': { path: '/providers', rig: { hasNothing: true } },
  provider: { path: '/providers/team-a/own-models' },
  'provider-partly': { path: '/providers/platform/anthropic' },
  route: { path: '/routes/platform/large' },
  'new-provider': { path: '/providers/new?namespace=team-a' },
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
      await page.getByText('It is there').waitFor();
    },
  },
  'not-found': { path: '/nothing/here' },
};

async function fillProvider(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: /^Name/ }).fill('home-models');
  await page.getByLabel(/^Address/).fill('https://models.example.com/v1');
  await page.getByLabel(/^Key/).fill('sk-own-key');
  await page.getByLabel(/^Model id/).fill('own/llama-4');
  await page.getByLabel(/^Its name at the provider/).fill('llama-4');
}

const modes = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 360, height: 740 } },
  { name: 'phone-dark', colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;

const [folder = 'shots', ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
for (const [name, shot] of Object.entries(shots)) {
  if (
    wanted.length > 0 &&
    !wanted.some((word) => name === word || (word.endsWith('*') && name.startsWith(word.slice(0, -1))))
  )
    continue;
  for (const mode of modes) await take(browser, name, shot, mode);
}
await browser.close();

async function take(
  from: Browser,
  name: string,
  { path, rig, act }: Shot,
  mode: (typeof modes)[number],
): Promise<void> {
  const server = await startRig({ ...usual, ...rig });
  const context = await from.newContext({
    viewport: mode.viewport,
    colorScheme: mode.colorScheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const said: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) said.push(message.text());
  });
  page.on('pageerror', (error) => said.push(String(error)));
  try {
    await page.goto(`${server.url}${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settle(page);
    await act?.(page);
    await settle(page);
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
    );
    await page.screenshot({
      path: join(folder, `${name}.${mode.name}.png`),
      fullPage: (await page.locator('dialog[open]').count()) === 0,
    });
    const { readFile } = await import('node:fs/promises');
    await page.evaluate(await readFile(axe, 'utf8'));
    const found = await page.evaluate(async () => {
      const { axe: run } = globalThis as unknown as {
        axe: {
          run(): Promise<{
            violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[];
          }>;
        };
      };
      const { violations } = await run.run();
      return violations.map(
        ({ id, help, nodes }) =>
          `${id}: ${help}\n      ${nodes
            .map(
              ({ html, failureSummary }) =>
                `${html.slice(0, 160)} ${failureSummary.split('\n').slice(1, 2).join('')}`,
            )
            .slice(0, 3)
            .join('\n      ')}`,
      );
    });
    const overflow: number = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    const all = [
      ...found,
      ...said.map((line) => `console: ${line}`),
      ...(overflow > 0 ? [`the page is ${overflow} px wider than the screen`] : []),
    ];
    console.log(
      `${name}.${mode.name}: ${all.length === 0 ? 'ok' : ''}${all.map((line) => `\n    ${line}`).join('')}`,
    );
  } catch (error) {
    await page.screenshot({ path: join(folder, `${name}.${mode.name}.failed.png`) }).catch(() => undefined);
    console.log(
      `${name}.${mode.name}: FAILED ${(error as Error).message.split('\n')[0]} ${said.join(' | ')}`,
    );
  } finally {
    await context.close();
    await server.close();
  }
}

/** Until nothing is being asked for. */
async function settle(page: Page): Promise<void> {
  const busy = page.locator('.loading, [aria-busy="true"]');
  while ((await busy.count()) > 0) await page.waitForTimeout(20);
}
