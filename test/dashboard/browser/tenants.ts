// What do people of different rights see and do in the pages? And what does a provider of one's own bring, and to whom?

import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { importedKey } from '../../flow/cluster/manifests.ts';
import { until } from '../../support/until.ts';
import { settled } from './chromium.ts';
import { heading, type Stage } from './stage.ts';

export function tenantsSuite(stage: () => Stage): void {
  test('a provider of one’s own brings its model to this tenant alone', async () => {
    const { simulator, gatewayUrl } = stage();
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    await page.getByRole('link', { name: 'Providers and routes' }).click();
    await page.getByRole('button', { name: 'Add provider' }).click();
    await page.getByRole('textbox', { name: /^Name/ }).fill('own-models');
    await page.getByLabel(/^Address/).fill(`${simulator.url}/v1`);
    await page.getByLabel(/^Key/).fill('sk-of-team-a-alone');
    await page.getByLabel(/^Model id/).fill('own/llama');
    await page.getByLabel(/^Upstream model/).fill('sim-small');
    await page.getByRole('button', { name: 'View as YAML' }).click();
    const yaml = await page.getByRole('region', { name: 'YAML' }).innerText();
    expect(yaml).toContain('kind: ModelRoute');
    expect(yaml).not.toContain('sk-of-team-a-alone');
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Add provider' }).click();
    await page.getByRole('heading', { name: 'Provider added' }).waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Route own-llama' }).getByText('Ready').waitFor();

    await page.getByRole('link', { name: 'Open models' }).click();
    const row = page.getByRole('row', { name: /^own\/llama/ });
    await row.getByText('Own', { exact: true }).waitFor();
    const viewer = await stage().enter('viewer');
    const modelsOf = async (namespace: string): Promise<string[]> => {
      await viewer.page.goto(`${stage().url}/models?namespace=${namespace}`);
      await viewer.page.getByRole('table').waitFor();
      await settled(viewer.page);
      return (await viewer.page.locator('tbody th code').allInnerTexts()).sort();
    };
    expect([await modelsOf('team-a'), await modelsOf('team-b')]).toEqual([
      ['listed', 'm', 'own/llama', 'paced'],
      ['m', 'paced'],
    ]);

    const asked = (namespace: string) =>
      new OpenAI({
        baseURL: `${gatewayUrl}/v1`,
        apiKey: importedKey(namespace, 'known'),
        maxRetries: 0,
      }).chat.completions.create({ model: 'own/llama', messages: [{ role: 'user', content: 'Say hello.' }] });
    expect((await asked('team-a')).choices[0]?.finish_reason).toBe('stop');
    await expect(asked('team-b')).rejects.toMatchObject({ status: 404 });
    await Promise.all([visitor.close(), viewer.close()]);
  });

  test('a read-only user sees everything, and each disabled button names the missing right', async () => {
    const visitor = await stage().enter('viewer');
    const { page } = visitor;
    const { url } = stage();
    const isDisabled = async (name: string) =>
      (await page.getByRole('button', { name }).getAttribute('aria-disabled')) === 'true';

    await page.goto(`${url}/keys/team-a/known`);
    await heading(page, /known/);
    await page.getByText(/Missing rights/).waitFor();
    expect(await page.getByText(/Missing rights/).innerText()).toMatch(
      /Missing rights: patch apikeys\.penstock\.dev in namespace team-a; delete apikeys\.penstock\.dev in namespace team-a\./,
    );
    for (const name of ['Edit', 'Rotate', 'Disable', 'Delete']) {
      expect([name, await isDisabled(name)]).toEqual([name, true]);
      await page.getByRole('button', { name }).click({ force: true });
    }
    expect(await isDisabled('View as YAML')).toBe(false);
    expect(await page.getByRole('dialog').count()).toBe(0);

    await page.goto(`${url}/keys/new?namespace=team-a`);
    await page.getByText('Missing rights: create apikeys.penstock.dev in namespace team-a.').waitFor();
    await page.getByRole('textbox', { name: /^Name/ }).fill('wished');
    await page.getByRole('button', { name: 'Create key' }).click({ force: true });
    await page.keyboard.press('Enter');
    expect(await page.getByTestId('key').count()).toBe(0);

    await page.goto(`${url}/providers/new?namespace=team-a`);
    await page
      .getByText(/Missing rights: create providers\.penstock\.dev in namespace team-a; create modelroutes/)
      .waitFor();

    await page.goto(`${url}/providers?namespace=team-a`);
    await page.getByText('No access to providers').waitFor();
    await page.getByText('No access to routes').waitFor();

    // No button of these asked for anything that changes something.
    const sent = [...(await visitor.sent()).values()].join('');
    const changes = [...sent.matchAll(/^(?:POST|PUT|PATCH|DELETE) \S+/gm)].map(([line]) => line);
    expect(
      changes.filter((line) => !/\/api\/(?:session|rights|ledger\/v1\/(?:catalog|plan))$/.test(line)),
    ).toEqual([]);
    await visitor.close();
  });

  test('without rights every view says so, and names the missing right', async () => {
    const visitor = await stage().enter('nobody');
    const { page } = visitor;
    for (const [path, words] of viewsWithoutRights) {
      await page.goto(`${stage().url}${path}`);
      await page.getByText(words).first().waitFor();
    }
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  test('after a sign-out nothing is shown, also by going back', async () => {
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
    await page.getByRole('link', { name: 'known' }).waitFor();
    await page.locator('details.person summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'Sign in');
    await page.goBack();
    await page.reload();
    await heading(page, 'Sign in');
    expect(await page.content()).not.toContain('known');
    await visitor.close();
  });

  test('another user’s change appears without a reload', async () => {
    const visitor = await stage().enter('viewer');
    const { page } = visitor;
    let readCount = 0;
    const isReading = (url: string) => url.endsWith('/namespaces/team-b/apikeys/known');
    page.on('request', (request) => {
      if (isReading(request.url())) readCount += 1;
    });
    // It asks by itself until the stream of changes is, and once more then.
    let readBefore: number | undefined;
    const devTools = await page.context().newCDPSession(page);
    devTools.on('Network.eventSourceMessageReceived', ({ eventName }) => {
      if (eventName === 'reset') readBefore ??= readCount;
    });
    await devTools.send('Network.enable');
    await page.goto(`${stage().url}/keys/team-b/known`);
    await until(async () => readBefore !== undefined && readCount > readBefore);
    await heading(page, /known/);
    const readWhenFollowing = readCount;
    await stage().installation.plane.mustKubectl([
      ...['patch', 'apikeys.penstock.dev', 'known', '-n', 'team-b', '--type=merge', '-p'],
      JSON.stringify({ spec: { owner: { name: 'Grace' } } }),
    ]);
    await page.getByText('Grace').waitFor();
    expect(readCount).toBe(readWhenFollowing);
    await visitor.close();
  });
}

const viewsWithoutRights = [
  ['/keys?namespace=team-a', /apikeys\.penstock\.dev is forbidden|may not list/],
  ['/keys/team-a/known', /cannot get resource "apikeys"/],
  ['/providers?namespace=team-a', 'No access to providers'],
  ['/providers/team-a/own-models', /cannot get resource "providers"/],
  ['/routes/platform/m', /cannot get resource "modelroutes"/],
  ['/models?namespace=team-a', 'Models could not be loaded'],
  ['/?namespace=team-a', /get apikeys/],
] as const;
