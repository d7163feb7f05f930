// What would keep every manifest from being taken is not written by the dashboard of local mode, unless they are held back already.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LocalRig } from '../rig.ts';
import { conditionOf, group, type Person, readAll, settled, signIn, startDashboardRig } from './person.ts';

const keys = `${group}/namespaces/default/apikeys`;
const providers = `${group}/namespaces/default/providers`;

let rig: LocalRig;
let person: Person;

beforeEach(async () => {
  rig = await startDashboardRig();
  person = await signIn(rig);
});
afterEach(() => rig?.close());

describe('a change that would block all later changes', () => {
  const refused = (...words: string[]) => `Nothing was written: ${words.join('; ')}`;
  const routes = `${group}/namespaces/default/modelroutes`;

  test.each([
    [
      'an upstream that its namespace may not reach',
      'POST',
      `${group}/namespaces/team-a/providers`,
      {
        metadata: { name: 'my-ollama' },
        spec: { type: 'Ollama', baseURL: 'http://127.0.0.1:11434/v1', auth: { type: 'None' } },
      },
      /^Provider team-a\/my-ollama: spec\.baseURL http:\/\/127\.0\.0\.1/,
    ],
    [
      'a route to a missing Provider',
      'POST',
      routes,
      {
        metadata: { name: 'lost' },
        spec: {
          model: 'lost/small',
          targets: [{ name: 'main', providerRef: { name: 'nobody' }, upstreamModel: 'x' }],
        },
      },
      /^ModelRoute default\/lost: .*Provider nobody/,
    ],
    [
      'a change of an object that is there',
      'PATCH',
      `${routes}/small`,
      { spec: { targets: [{ name: 'main', providerRef: { name: 'nobody' }, upstreamModel: 'x' }] } },
      /^ModelRoute default\/small: .*Provider nobody/,
    ],
    [
      'the end of what others need',
      'DELETE',
      `${providers}/first`,
      undefined,
      /^ModelRoute default\/small: .*Provider first, which does not exist/,
    ],
  ])(
    'is refused with the message of the compile, and not written: %s',
    async (_, method, path, body, words) => {
      const before = await readAll(rig);
      const answer = await person.kube(method, path, body);
      expect(answer).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
      const { message = '' } = answer.body;
      expect(message.slice(0, refused().length)).toBe(refused());
      expect(message.slice(refused().length)).toMatch(words);
      expect(await readAll(rig)).toEqual(before);
      await person.kube('PATCH', `${keys}/quickstart`, { spec: { displayName: `After ${method} ${path}` } });
      await settled(person, `${keys}/quickstart`);
    },
  );

  test('made by hand is shown in the pages as in the terminal, until it is repaired', async () => {
    const heldBack = async () => (await person.ask('GET', '/api/session')).body.heldBack;
    expect(await heldBack()).toBeUndefined();
    await rig.edit('routes.yaml', 'upstreamModel: sim-spare', 'upstreamModl: sim-spare');
    const problem = await rig.next(/^problem/);
    await rig.next(/^Not applied/);
    expect(await heldBack()).toEqual([problem.replace(/^problem +/, '')]);
    await rig.edit('routes.yaml', 'upstreamModl: sim-spare', 'upstreamModel: sim-spare');
    await rig.next(/^Repaired/);
    expect(await heldBack()).toBeUndefined();
  });

  test('is written if changes are blocked already: it may be the repair', async () => {
    await rig.edit('routes.yaml', 'upstreamModel: sim-spare', 'upstreamModl: sim-spare');
    await rig.next(/^Not applied/);
    const { status } = await person.kube('PATCH', `${keys}/quickstart`, { spec: { displayName: 'Later' } });
    expect(status).toBe(200);
    const later = await settled(person, `${keys}/quickstart`, ['Programmed', 'False']);
    expect(conditionOf(later, 'Programmed')?.reason).toBe('Pending');
    expect(conditionOf(later, 'Programmed')?.message).toContain('routes.yaml');
    const target = { name: 'main', providerRef: { name: 'nobody' }, upstreamModel: 'x' };
    const lost = { metadata: { name: 'lost' }, spec: { model: 'lost/small', targets: [target] } };
    expect((await person.kube('POST', routes, lost)).status).toBe(201);
    const judged = await settled(person, `${routes}/lost`, ['Ready', 'False']);
    expect(conditionOf(judged, 'Ready')?.reason).toBe('NoUsableTarget');
    await rig.edit('routes.yaml', 'upstreamModl: sim-spare', 'upstreamModel: sim-spare');
    expect((await person.kube('DELETE', `${routes}/lost`)).status).toBe(200);
    await settled(person, `${keys}/quickstart`);
  });
});
