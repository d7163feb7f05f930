// How does a test come to a browser? A Chromium without windows, and without anything that it would ask of the internet by itself.

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { neededProgram } from '../../support/needed-program.ts';
import { until } from '../../support/until.ts';

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** With a profile of its own, deleted when it is closed. @throws with one sentence where there is none. */
export async function openChromium(): Promise<Browser> {
  return await chromium.launch({
    executablePath: await findChromium(),
    args: flags,
    // Pages that are left are kept for the Back button, as in everybody's browser.
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });
}

/** The one without windows: the same tests take a third of the work. The whole browser where that cannot be had. */
function findChromium(): Promise<string> {
  return neededProgram('chromium-headless-shell').catch((missing) =>
    neededProgram('chromium').catch(() => {
      throw missing;
    }),
  );
}

export const SCREENS = {
  wide: { width: 1440, height: 900 },
  phone: { width: 360, height: 740 },
} as const;

export interface Look {
  readonly screen: keyof typeof SCREENS;
  readonly colorScheme: 'light' | 'dark';
}

export const LOOKS: readonly Look[] = [
  { screen: 'wide', colorScheme: 'light' },
  { screen: 'phone', colorScheme: 'dark' },
  { screen: 'wide', colorScheme: 'dark' },
  { screen: 'phone', colorScheme: 'light' },
];

/** As every reader here has it, so that pictures and texts are the same on every machine. */
export function contextFor({ screen, colorScheme }: Look): BrowserContextOptions {
  return {
    viewport: SCREENS[screen],
    colorScheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  };
}

export interface Visitor {
  readonly page: Page;
  /** What was complained of: errors of scripts, and what the content security policy refused. */
  readonly complaints: readonly string[];
  /** Everything that the browser sent: addresses, headers, bodies; by where it went. */
  sent(): Promise<ReadonlyMap<string, string>>;
  close(): Promise<void>;
}

/** Somebody with cookies of their own. */
export async function openVisitor(
  browser: Browser,
  look: Look = { screen: 'wide', colorScheme: 'light' },
): Promise<Visitor> {
  const context = await browser.newContext(contextFor(look));
  // Shorter than that of a test, so that it is said what was waited for.
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  const sent: Promise<readonly [string, string]>[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy/.test(message.text()))
      complaints.push(message.text());
  });
  context.on('request', (request) => {
    const url = request.url();
    const body = request.postDataBuffer()?.toString('latin1') ?? '';
    // Those of a request that was given up are never all there.
    const headers = request.allHeaders().catch(() => request.headers());
    sent.push(headers.then((all) => [url, `${request.method()} ${url} ${JSON.stringify(all)} ${body}\n`]));
  });
  return {
    page,
    complaints,
    async sent() {
      const texts = new Map<string, string>();
      for (const [url, text] of await Promise.all(sent)) {
        const { origin } = new URL(url);
        texts.set(origin, (texts.get(origin) ?? '') + text);
      }
      return texts;
    },
    close: () => context.close(),
  };
}

/** Nothing is being asked for any more, and what has come is drawn. */
export async function settled(page: Page): Promise<void> {
  const busy = page.locator('.loading, [aria-busy="true"]');
  await until(async () => (await busy.count()) === 0);
  await page.evaluate(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
  );
}
