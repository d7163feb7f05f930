// What would keep somebody out who sees, hears or types otherwise? What axe finds on a page, and what is wider than the screen.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface Found {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

const source = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** One line for each. Empty: nothing. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  await page.evaluate(await source);
  const found: readonly Found[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
  const tooWidePx: number = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return [
    ...found.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(wordsOf).join(' | ')}`),
    ...(tooWidePx > 0 ? [`the page is ${tooWidePx} px wider than the screen`] : []),
  ];
}

function wordsOf({ html, failureSummary = '' }: Found['nodes'][number]): string {
  return `${html.slice(0, 160)} ${failureSummary.split('\n').slice(1, 2).join('').trim()}`;
}
