// Is a request answered alike by either way in? Those about which nothing is odd are taken before the framework sees them; an odd
// spelling of the same address goes by the framework.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { type Answered, bearer, post } from './ask.ts';

const plain = '/v1/chat/completions';
const odd = '/v1/ch%61t/completions';

let wall: Wall;
let rig: Rig;

beforeAll(async () => {
  wall = await startWall([{ type: 'answer' }]);
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
});

afterAll(async () => {
  await rig.close();
  await wall.close();
  expect(rig.failures).toEqual([]);
});

const messages = [{ role: 'user', content: 'hello' }];

/** But for what differs from answer to answer. */
function seen({ status, headers, text }: Answered): unknown {
  const { date, 'x-request-id': _, 'request-id': __, ...others } = headers;
  return { status, others, text: text.replace(/req_\w+|wall-\d+|"created":\d+/g, '') };
}

test.each([
  ['good', { model: 'm', messages }, bearer],
  ['for no model that there is', { model: 'none', messages }, bearer],
  ['without messages', { model: 'm' }, bearer],
  ['of another type', { model: 'm', messages }, { ...bearer, 'content-type': 'text/plain' }],
  ['in another coding', { model: 'm', messages }, { ...bearer, 'content-encoding': 'gzip' }],
  ['of a bad key', { model: 'm', messages }, { authorization: `Bearer psk_${'x'.repeat(49)}` }],
  ['of no key', { model: 'm', messages }, {}],
])('one %s', async (_, body, headers) => {
  const taken = await post(rig, plain, body, headers);
  expect(seen(await post(rig, odd, body, headers))).toEqual(seen(taken));
});
