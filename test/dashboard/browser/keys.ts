// What becomes of a key that somebody makes in the page? It works when the page says so, and nobody else ever has it.

import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import OpenAI from 'openai';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { askGateway, askUntil } from '../../flow/cluster/ask.ts';
import { findLeaks } from '../../security/leaks.ts';
import { heading, type Stage } from './stage.ts';

/** By the form, from any view; the key that is shown. */
async function createKey(page: Page, name: string, budget?: string): Promise<string> {
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('textbox', { name: /^Name/ }).fill(name);
  if (budget !== undefined) {
    await page.getByText(/^Owner, expiry/).click();
    await page.getByRole('textbox', { name: 'Dollars' }).fill(budget);
  }
  await page.getByRole('button', { name: 'Create key' }).click();
  return await shownKey(page);
}

async function shownKey(page: Page): Promise<string> {
  return (await page.getByTestId('key').innerText()).trim();
}

const programmed = (page: Page) => page.getByText('Live', { exact: true }).first().waitFor();

async function rotate(page: Page, overlapHours: number): Promise<string> {
  await page.getByRole('button', { name: 'Rotate' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Overlap').selectOption(String(overlapHours));
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  const key = await shownKey(page);
  await programmed(page);
  return key;
}

export function keysSuite(stage: () => Stage): void {
  const askAll = (key: string) =>
    Promise.all(
      stage().installation.gateways.map(async (gateway) => (await askGateway(gateway, key, 'm')).status),
    );
  const refusedByAll = (key: string) =>
    Promise.all(
      stage().installation.gateways.map((gateway) =>
        askUntil(gateway, key, 'm', ({ status }) => status === 401),
      ),
    );

  test('it works with the OpenAI SDK at every gateway within a second of Programmed, and Test shows its answer arriving', async () => {
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    const key = await createKey(page, 'quick');
    expect(key).toMatch(/^psk_[0-9A-Za-z]{49}$/);
    await programmed(page);
    const sinceMs = performance.now();
    const answers = await Promise.all(
      stage().installation.gateways.map(({ baseUrl }) =>
        new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 }).chat.completions.create({
          model: 'm',
          messages: [{ role: 'user', content: 'Say hello.' }],
        }),
      ),
    );
    expect(performance.now() - sinceMs).toBeLessThan(1_000);
    expect(answers.map(({ choices }) => choices[0]?.finish_reason)).toEqual(['stop', 'stop']);

    await page.getByLabel('Model', { exact: true }).selectOption('paced');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    // Some of its words are there while the others are still to come.
    await page.getByText(/first token/).waitFor();
    const early = await page.locator('.answer-text').innerText();
    await page.getByText(/total/).waitFor();
    const whole = await page.locator('.answer-text').innerText();
    expect(whole.length).toBeGreaterThan(early.length);
    expect(whole.startsWith(early.trimEnd())).toBe(true);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  test('the playground streams two models side by side straight from the gateway, stops, and shows what the gateway refuses', async () => {
    const { gatewayUrl } = stage();
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    const key = await createKey(page, 'player');
    await programmed(page);
    await page.getByRole('link', { name: 'Open in the playground' }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    const model = page.getByLabel('Model', { exact: true });
    await model.selectOption('m');
    await page.getByLabel('Compare with').selectOption('paced');
    await page.getByLabel('Prompt', { exact: true }).fill('Only for the gateway.');
    const send = page.getByRole('button', { name: 'Send' });
    await send.click();
    const paced = page.getByRole('region', { name: 'Answer of paced' });
    await paced.getByText(/first token/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await paced.getByText(/stopped after/).waitFor();
    const m = page.getByRole('region', { name: 'Answer of m' });
    await m.getByText(/total .* tokens in, \d+ out · status 200/).waitFor();
    const id = await m.getByRole('link').innerText();
    expect(id).toMatch(/^req_/);

    await page.getByLabel('Key', { exact: true }).selectOption('');
    await page.getByLabel('Your key').fill(`${key.slice(0, -1)}-`);
    await page
      .getByRole('alert')
      .getByText(/^401: /)
      .waitFor();
    const sent = await visitor.sent();
    const toOthers = [...sent].flatMap(([origin, text]) =>
      origin === new URL(gatewayUrl).origin ? [] : text,
    );
    expect(toOthers.join('')).not.toMatch(/Only for the gateway/);
    expect(sent.get(new URL(gatewayUrl).origin)).toContain('Only for the gateway');
    await m.getByRole('link', { name: id }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'team-a/player' }).waitFor();
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  test('the key reaches only the gateway: no other request, no log, Secret, file, etcd, or page after leaving', async () => {
    const { installation, dashboard, gatewayUrl } = stage();
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    const first = await createKey(page, 'hidden');
    await programmed(page);
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText(/total/).waitFor();
    await page.getByRole('link', { name: /^Done/ }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await heading(page, /hidden/);
    const second = await rotate(page, 1);
    expect(await page.content()).toContain(second);
    await page.getByRole('button', { name: /^Done/ }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Details', exact: true }).waitFor();
    expect(await askAll(second)).toEqual([200, 200]);

    const { plane } = installation;
    const sent = await visitor.sent();
    const gatewayOrigin = new URL(gatewayUrl).origin;
    const texts: Record<string, string> = {
      'the page': await page.content(),
      'what the page keeps': await page.evaluate(kept),
      'the output of the dashboard': dashboard.stdout() + dashboard.stderr(),
      Secrets: await plane.mustKubectl(['get', 'secrets', '-A', '-o', 'json']),
    };
    for (const [origin, text] of sent)
      if (origin !== gatewayOrigin) texts[`what was sent to ${origin}`] = text;
    const processes = [...installation.operators, ...installation.gateways, installation.ledger()];
    for (const [index, { process }] of processes.entries())
      texts[`the output of process ${index}`] = process.stdout() + process.stderr();
    await page.goBack();
    texts['the page that one comes back to'] = await page.content();
    // Of the API server and etcd, and of gateways and ledger.
    const files = {
      ...(await readFiles(dirname(plane.auditFile))),
      ...(await readFiles(plane.folder)),
    };
    expect(Object.keys(files).filter((path) => /etcd.*\.(wal|db)$|\/db$/.test(path)).length).toBeGreaterThan(
      1,
    );

    const keys = new Map([
      ['the first key', first],
      ['the second key', second],
    ]);
    const hash = await plane.mustKubectl([
      ...['get', 'apikey', 'hidden', '-n', 'team-a', '-o', 'jsonpath={.spec.imports[0].sha256}'],
    ]);
    const found = findLeaks(new Map([...keys, ['hash', hash]]), { ...texts, ...files });
    expect(found.filter((place) => !place.startsWith('hash in '))).toEqual([]);
    // What is searched is what was meant: the hash is found where it belongs, and the key where it was sent to.
    expect(found).toContain(`hash in what was sent to ${new URL(page.url()).origin}`);
    expect(found.filter((place) => /etcd/.test(place)).length).toBeGreaterThan(0);
    expect(findLeaks(keys, { there: sent.get(gatewayOrigin) ?? '' })).toEqual(['the first key in there']);
    await visitor.close();
  });

  test('rotated with an overlap, both keys work; rotated without one, only the new', async () => {
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    const first = await createKey(page, 'turning');
    await programmed(page);
    await page.getByRole('link', { name: /^Done/ }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    const second = await rotate(page, 24);
    expect([await askAll(first), await askAll(second)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    await page.getByRole('button', { name: /^Done/ }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByText('Retiring').waitFor();
    const third = await rotate(page, 0);
    expect([await askAll(first), await askAll(second), await askAll(third)]).toEqual([
      [401, 401],
      [401, 401],
      [200, 200],
    ]);
    await visitor.close();
  });

  test('an edit holds although the status was written at the same time, and is refused where the spec was', async () => {
    const { mustKubectl } = stage().installation.plane;
    const patch = (body: object, ...args: readonly string[]) =>
      mustKubectl([
        ...['patch', 'apikey', 'in-use', '-n', 'team-a', '--type=merge', '-p', JSON.stringify(body)],
        ...args,
      ]);
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    await createKey(page, 'in-use');
    await programmed(page);
    await page.getByRole('link', { name: /^Done/ }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    const edit = async (team: string): Promise<void> => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('dialog').getByRole('textbox', { name: 'Team' }).fill(team);
    };
    const save = page.getByRole('dialog').getByRole('button', { name: 'Save' });
    const read = async (path: string) =>
      await mustKubectl(['get', 'apikey', 'in-use', '-n', 'team-a', '-o', `jsonpath={${path}}`]);

    await edit('of the page');
    const seen = await read('.metadata.resourceVersion');
    await patch({ status: { usage: { lastUsedAt: '2026-01-02T03:04:05Z' } } }, '--subresource=status');
    expect(await read('.metadata.resourceVersion')).not.toBe(seen);
    await save.click();
    await page.getByText('Saved.').waitFor();
    expect(await read('.spec.owner.team')).toBe('of the page');

    await edit('again of the page');
    await patch({ spec: { owner: { team: 'of somebody else' } } });
    await save.click();
    await page.getByText('The change was not saved', { exact: true }).waitFor();
    expect(await read('.spec.owner.team')).toBe('of somebody else');
    await visitor.close();
  });

  test('disabled it is refused, enabled it works again, deleted it is gone', async () => {
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    const key = await createKey(page, 'switched');
    await programmed(page);
    await page.getByRole('link', { name: /^Done/ }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Disabled', { exact: true }).waitFor();
    await refusedByAll(key);
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Disable' }).waitFor();
    for (const gateway of stage().installation.gateways)
      await askUntil(gateway, key, 'm', ({ status }) => status === 200);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('switched');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await heading(page, 'Keys');
    await refusedByAll(key);
    await visitor.close();
  });

  test('when its budget is used up, the page says so', async () => {
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    const key = await createKey(page, 'spent', '0.01');
    await programmed(page);
    await page.getByRole('link', { name: /^Done/ }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    expect((await askAll(key))[0]).toBe(200);
    await page.getByText('Budget used up', { exact: true }).waitFor();
    await page
      .getByText(/Monthly budget used up: \$[\d.]+ of \$0\.01\. Refused until/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
    const row = page.getByRole('row', { name: /^spent/ });
    await row.getByText('Budget used up').waitFor();
    await row.getByText(/of \$0\.01/).waitFor();
    await visitor.close();
  });
}

/** Everything that a page can keep, as text. */
const kept = `(async () => JSON.stringify({
  local: { ...localStorage },
  session: { ...sessionStorage },
  cookies: document.cookie,
  history: history.state,
  databases: await indexedDB.databases(),
  caches: await caches.keys(),
  fields: [...document.querySelectorAll('input, textarea')].map(({ value }) => value),
}))()`;

const emptyPage = '\0'.repeat(4_096);

/** By path; without the long empty stretches that databases keep free. */
async function readFiles(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const texts: Record<string, string> = {};
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    // What is gone by now was a file for a moment only.
    const text = await readFile(path, 'latin1').catch(() => '');
    texts[path] = text.split(emptyPage).join('');
  }
  return texts;
}
