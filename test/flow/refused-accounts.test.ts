// Several keys of one provider are refused, by whom several targets are served: what is asked, and what is reported?

import { describe, expect, test } from 'vitest';
import { type Rig, type RigTarget, tableOf } from '../gateway/rig.ts';
import type { Behaviour, Call } from '../support/wall.ts';
import { ask, errorOf } from './ask.ts';
import { type House, inHouse } from './house.ts';

const keyOf = (call: Call): string => call.headers.authorization?.replace('Bearer ', '') ?? '';

const refusedWith = (code: number): Behaviour => ({ type: 'status', status: code });

const threeKeys = { a: 'KEY-A', b: 'KEY-B', c: 'KEY-C' };

/** A route of two targets at one provider, and behind them further ones, each at a provider of its own. */
async function rigOfTwo(house: House, baseUrl: string, others: readonly RigTarget[] = []): Promise<Rig> {
  const targets = [{ baseUrl, keys: threeKeys }, ...others];
  const rig = await house.rigOf(targets);
  const routes = tableOf(targets).routes.map((route) => {
    const [first, ...more] = route.targets;
    return {
      ...route,
      targets: first ? [first, { ...first, name: 'second', upstreamModel: 'y' }, ...more] : [],
    };
  });
  rig.offer({ routes });
  return rig;
}

describe('two targets at one provider whose three keys are refused', () => {
  test.each<[string, Behaviour]>([
    ['401', refusedWith(401)],
    ['403', { type: 'status', status: 403, error: { code: 'account_deactivated' } }],
    [
      '400',
      { type: 'status', status: 400, error: { message: 'API key not valid. Please pass a valid API key.' } },
    ],
  ])(
    '(%s) each key is asked once, for either target, and none by the next request',
    inHouse(async (house, _name, refusal) => {
      const wall = await house.wallThat(refusal);
      const rig = await rigOfTwo(house, wall.baseUrl);
      expect((await ask(rig)).status).toBe(502);
      expect(wall.calls.map(keyOf)).toEqual(['KEY-A', 'KEY-B', 'KEY-C']);
      expect(rig.records.map(({ target }) => target)).toEqual(['t0', 't0', 'second']);
      expect((await ask(rig)).status).toBe(502);
      expect(wall.calls).toHaveLength(3);
    }),
  );

  // A request that is forbidden cools down no key: without the other provider all of them would fail for ever.
  test.each([401, 403, 429])(
    '(%i) leave the last attempt to another provider',
    inHouse(async (house, code) => {
      const wall = await house.wallThat(refusedWith(code));
      const other = await house.wallThat({ type: 'answer' });
      const rig = await rigOfTwo(house, wall.baseUrl, [{ baseUrl: other.baseUrl }]);
      expect([(await ask(rig)).status, (await ask(rig)).status]).toEqual([200, 200]);
      expect(other.calls).toHaveLength(2);
    }),
  );
});

test(
  'a model that both keys of one target may not use is unknown only after the other target was asked too',
  inHouse(async (house) => {
    const error = { message: 'Project `p` does not have access to model `m`', code: 'model_not_found' };
    const refusing = await house.wallThat({ type: 'status', status: 403, error });
    const other = await house.wallThat({ type: 'status', status: 429, headers: { 'retry-after': '60' } });
    const keys = { a: 'KEY-A', b: 'KEY-B' };
    const rig = await house.rigOf([{ baseUrl: refusing.baseUrl, keys }, { baseUrl: other.baseUrl }]);
    // The other one is asked to rest, so that it cannot be asked the second time.
    expect((await ask(rig)).status).toBe(429);
    const reported = await ask(rig);
    expect([reported.status, errorOf(reported)?.code]).toEqual([502, 'upstream_error']);
    expect([refusing.calls.length, other.calls.length]).toEqual([4, 1]);
  }),
);
