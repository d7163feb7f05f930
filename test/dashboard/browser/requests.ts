// Is a request found in the page by the id of its response, refused or answered, and does each person see only what is theirs?

import { expect, test } from 'vitest';
import { importedKey } from '../../flow/cluster/manifests.ts';
import { findBarriers } from './axe.ts';
import { heading, type Stage } from './stage.ts';

export function requestsSuite(stage: () => Stage): void {
  /** @returns what a caller sees. */
  async function call(namespace: string, model: string) {
    const response = await fetch(`${stage().gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${importedKey(namespace, 'known')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'a-word-that-nobody-keeps' }] }),
    });
    await response.text();
    return { status: response.status, id: response.headers.get('x-request-id') ?? '' };
  }

  test('an answered and a refused request follow by themselves, and their ids find them', async () => {
    const { url } = stage();
    const { page, close } = await stage().enter('viewer');
    await page.goto(`${url}/requests?namespace=*`);
    await heading(page, 'Requests');
    const answered = await call('team-a', 'm');
    const refused = await call('team-a', 'no-such-model');
    expect([answered.status, refused.status]).toEqual([200, 404]);
    const rowOf = (id: string) => page.getByRole('row').filter({ has: page.getByTitle(id) });
    await rowOf(answered.id).getByText('200', { exact: true }).waitFor();
    await rowOf(refused.id).getByText('404 refused').waitFor();
    await page.getByLabel('Request id').fill(answered.id);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^sim answered in /).waitFor();
    await dialog.getByRole('link', { name: 'team-a/known' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    expect(await page.content()).not.toContain('a-word-that-nobody-keeps');
    await page.keyboard.press('Escape');
    await page.goto(`${url}/requests?namespace=*&outcome=refused&model=no-such-model`);
    await rowOf(refused.id).waitFor();
    expect(await rowOf(answered.id).count()).toBe(0);
    await close();
  });

  test('a user of one namespace sees its requests without the provider, and no requests of other namespaces', async () => {
    const { url } = stage();
    const [own, other] = [await call('team-a', 'm'), await call('team-b', 'm')];
    const { page, close } = await stage().enter('editor');
    await page.goto(`${url}/requests?namespace=team-a&request=${own.id}`);
    await page
      .getByRole('dialog')
      .getByText(/^The provider answered in /)
      .waitFor();
    const ask = async (query: string) => {
      const answer = await page.request.get(`${url}/api/ledger/v1/request-log?${query}`);
      return { status: answer.status(), text: await answer.text() };
    };
    const { status, text } = await ask('namespace=team-a');
    expect([status, text.includes(own.id), text.includes(other.id), text.includes('platform/sim')]).toEqual([
      200,
      true,
      false,
      false,
    ]);
    expect(JSON.parse((await ask(`namespace=team-a&request=${other.id}`)).text).rows).toEqual([]);
    for (const query of [`request=${other.id}`, 'namespace=team-b', 'namespace=team-a&provider=platform/sim'])
      expect([query, (await ask(query)).status]).toEqual([query, 403]);
    await close();
  });
}
