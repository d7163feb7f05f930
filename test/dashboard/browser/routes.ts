// Can failover be set up in the pages, with a real API server, operator and gateways behind them?

import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { importedKey } from '../../flow/cluster/manifests.ts';
import { click, dialogOf } from '../rig/pages.ts';
import { heading, type Stage } from './stage.ts';

export function routesSuite(stage: () => Stage): void {
  test('a connection is tested before anything is saved, and the server’s own models are offered', async () => {
    const { url, simulator } = stage();
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    await page.goto(`${url}/providers/new?namespace=team-a`);
    await page.getByLabel(/^Address/).fill(`${simulator.url}/v1`);
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText('Works', { exact: true }).waitFor();
    await page
      .getByText(/Reachable in \d+ ms: model list read, \d+ models\./)
      .first()
      .waitFor();
    const list = await page.getByLabel(/^Upstream model/).getAttribute('list');
    const offered = await page
      .locator(`datalist#${list} option`)
      .evaluateAll((options) => options.map((option) => option.getAttribute('value')));
    expect(offered).toContain('sim-small');

    // The address rules of the namespace hold, and metadata of a cloud is closed to all.
    await page.getByLabel(/^Address/).fill('http://169.254.169.254/latest');
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.getByText('Failed', { exact: true }).waitFor();
    await page
      .getByText(/169\.254\.169\.254:80: not allowed/)
      .first()
      .waitFor();
    expect(visitor.complaints).toEqual([]);
    await visitor.close();

    // Of a saved one too, and not by a person that may only look.
    const looking = await stage().enter('viewer');
    const refused = await looking.page.evaluate(
      `fetch('/api/session').then((it) => it.json()).then(({ csrf }) => fetch('/api/ledger/v1/connection-check', { method: 'POST', headers: { 'content-type': 'application/json', 'x-penstock-csrf': csrf }, body: JSON.stringify({ namespace: 'team-a', provider: 'listed' }) })).then((it) => it.status)`,
    );
    expect(refused).toBe(403);
    await looking.close();
  });

  test('failover between two providers is set up in the page, and a call is answered by the second', async () => {
    const { url, gatewayUrl, installation } = stage();
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    await page.goto(`${url}/providers/new?namespace=team-a`);
    await page.getByRole('textbox', { name: /^Name/ }).fill('gone');
    // Nothing listens there.
    await page.getByLabel(/^Address/).fill('http://127.0.0.1:1/v1');
    await page.getByLabel(/^Model id/).fill('own/failover');
    await page.getByLabel(/^Upstream model/).fill('sim-small');
    await page.getByRole('button', { name: 'Add provider' }).click();
    await page.getByRole('link', { name: 'own-failover' }).click();
    await heading(page, /own-failover/);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await click(page, 'Add target');
    const providers = dialogOf(page).getByLabel(/^Provider/);
    await providers.last().fill('listed');
    const offered = page.locator(`datalist#${await providers.last().getAttribute('list')} option`);
    await offered.nth(1).waitFor({ state: 'attached' });
    await dialogOf(page)
      .getByLabel(/^Upstream model/)
      .last()
      .fill('sim-small');
    await click(page, 'Save');
    await page.getByRole('row', { name: /^listed/ }).waitFor();
    await installation.awaitCondition('modelroute/own-failover', 'Programmed', 'team-a');

    const answer = await new OpenAI({
      baseURL: `${gatewayUrl}/v1`,
      apiKey: importedKey('team-a', 'known'),
      maxRetries: 0,
    }).chat.completions
      .create({ model: 'own/failover', messages: [{ role: 'user', content: 'Say hello.' }] })
      .withResponse();
    expect(answer.data.choices[0]?.finish_reason).toBe('stop');
    expect(Number(answer.response.headers.get('x-penstock-attempts'))).toBeGreaterThan(1);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  test('a refusal of the API server is shown at its field, and another user’s change is not overwritten', async () => {
    const { url, installation } = stage();
    const visitor = await stage().enter('editor');
    const { page } = visitor;
    await page.goto(`${url}/providers/team-a/listed`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialogOf(page).getByText('More settings').click();
    await dialogOf(page).getByLabel('CA name').fill('own-ca');
    const caKey = dialogOf(page).getByLabel('CA entry');
    await caKey.fill('no data key!');
    await click(page, 'Save');
    await click(page, 'Save and apply');
    await dialogOf(page).locator('[aria-invalid="true"]').waitFor();
    expect(await caKey.getAttribute('aria-invalid')).toBe('true');
    await dialogOf(page).getByLabel('CA name').fill('');
    await caKey.fill('');

    await dialogOf(page).getByLabel('Health check').selectOption('Disabled');
    await installation.plane.mustKubectl([
      ...['patch', 'providers.penstock.dev', 'listed', '-n', 'team-a', '--type=merge', '-p'],
      JSON.stringify({ spec: { displayName: 'Ours' } }),
    ]);
    await click(page, 'Save');
    await dialogOf(page).getByText('the object has been modified').waitFor();
    await click(page, 'Cancel');
    // As it is by now.
    await page.reload();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialogOf(page).getByText('More settings').click();
    await dialogOf(page).getByLabel('Health check').selectOption('Disabled');
    await click(page, 'Save');
    await dialogOf(page).waitFor({ state: 'detached' });
    const spec = JSON.parse(
      await installation.plane.mustKubectl([
        ...['get', 'providers.penstock.dev', 'listed', '-n', 'team-a', '-o', 'jsonpath={.spec}'],
      ]),
    );
    expect(spec).toMatchObject({ displayName: 'Ours', healthCheck: { active: { type: 'Disabled' } } });
    await visitor.close();
  });
}
