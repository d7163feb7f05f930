// Do the manifests of docs/guides/reliability.md do what the page says? Served in local mode, beside those of the quickstart.

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyQuickstart, type LocalRig, startLocalRig } from './rig.ts';

const example = new URL('../../docs/examples/delivery/routes.yaml', import.meta.url);

let rig: LocalRig;

beforeAll(async () => {
  rig = await startLocalRig({
    async prepare(folders, upstream) {
      await copyQuickstart(folders, upstream.port);
      await folders.write('delivery.yaml', await readFile(example, 'utf8'));
    },
  });
});

afterAll(() => rig.close());

/** As a client of chat completions sees it. */
async function askFor(model: string, more: object, headers: Record<string, string> = {}) {
  const answer = await fetch(`${rig.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rig.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'three plain words' }], ...more }),
  });
  return {
    status: answer.status,
    attempts: answer.headers.get('x-penstock-attempts'),
    text: await answer.text(),
  };
}

test.each(['penstock/agents', 'penstock/chat'])(
  'what the first provider of %s breaks off is answered by the second, whole',
  async (model) => {
    const seen = await askFor(model, { stream: true });
    expect([seen.status, seen.attempts]).toEqual([200, '2']);
    expect(seen.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(seen.text).toContain('sim-spare');
    expect(seen.text).not.toContain('sim-small');
  },
);

test('a plain call of penstock/batch is fetched as a stream, and answered by the second', async () => {
  const seen = await askFor('penstock/batch', {});
  expect([seen.status, seen.attempts]).toEqual([200, '2']);
  expect(JSON.parse(seen.text)).toMatchObject({ object: 'chat.completion', model: 'sim-spare' });
  expect(rig.upstream.calls().at(-1)?.body).toMatchObject({ stream: true });
});

test('a caller requests it by header', async () => {
  const seen = await askFor('penstock/small', { stream: true }, { 'x-penstock-delivery': 'assured' });
  expect([seen.status, seen.text.endsWith('data: [DONE]\n\n')]).toEqual([200, true]);
  expect((await askFor('penstock/small', {}, { 'x-penstock-delivery': 'whole' })).status).toBe(400);
});
