// Pictures of each view for looking at, and what axe finds in it: light, dark and as narrow as a phone.
//
//   npm run build && node test/dashboard/rig/shots.ts <folder> [name of a view, or its beginning and a * …]

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findBarriers } from '../browser/axe.ts';
import { LOOKS, openChromium } from '../browser/chromium.ts';
import { openView, SHOTS } from './views.ts';

const [folder = 'shots', ...wanted] = process.argv.slice(2);
const isWanted = (name: string) =>
  wanted.length === 0 ||
  wanted.some((word) => name === word || (word.endsWith('*') && name.startsWith(word.slice(0, -1))));

await mkdir(folder, { recursive: true });
const browser = await openChromium();
for (const [name, shot] of Object.entries(SHOTS)) {
  if (!isWanted(name)) continue;
  for (const look of LOOKS) {
    const called = `${name}.${look.screen}-${look.colorScheme}`;
    try {
      const { page, complaints, close } = await openView(browser, shot, look);
      const fullPage = (await page.locator('dialog[open]').count()) === 0;
      await page.screenshot({ path: join(folder, `${called}.png`), fullPage });
      const found = [...(await findBarriers(page)), ...complaints];
      console.log(`${called}: ${found.length === 0 ? 'ok' : found.map((line) => `\n    ${line}`).join('')}`);
      await close();
    } catch (error) {
      console.log(`${called}: FAILED ${(error as Error).message.split('\n')[0]}`);
    }
  }
}
await browser.close();
