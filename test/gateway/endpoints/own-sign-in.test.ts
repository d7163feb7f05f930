// Can a caller send the header that a Provider is signed in with? Its own providers get more of its headers, never that one.

import { afterEach, expect, test } from 'vitest';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, latest, post } from './ask.ts';

let wall: Wall;
let rig: Rig;

afterEach(async () => {
  await rig.close();
  await wall.close();
});

test('no caller can send the headers that sign in at a Provider', async () => {
  wall = await startWall({ type: 'answer', text: 'hello' });
  const dialects = ['anthropic-messages' as const];
  const providerEntry = { dialects, isPlatform: false, auth: { header: 'Anthropic-Token', prefix: '' } };
  rig = await startRig(
    tableOf([
      {
        baseUrl: wall.baseUrl,
        provider: 'team/own',
        dialects,
        providerEntry,
        keys: { one: 'sk-of-the-provider' },
      },
    ]),
  );
  const answer = await post(
    rig,
    '/v1/messages',
    { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
    { ...bearer, 'anthropic-token': 'sk-of-the-caller', 'anthropic-workspace-id': 'w' },
  );
  expect(answer.status).toBe(200);
  const { headers } = latest(wall);
  expect([headers['anthropic-token'], headers['anthropic-workspace-id']]).toEqual([
    'sk-of-the-provider',
    'w',
  ]);
});
