// When is an upstream checked, and what is concluded?

import { describe, expect, onTestFinished, test } from 'vitest';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { CheckAnswer } from '../../../operator/probe/check.ts';
import { createProber } from '../../../operator/probe/prober.ts';
import { makeClock, settle } from '../clock.ts';
import { provider, secret, snapshot } from '../make.ts';

const ID = 'team-a/openai';
const MINUTE = 60_000;
const key = (name: string) => ({ name, secretRef: { name: 'openai', key: name } });
const data = { key: 'sk-upstream', a: 'sk-a', b: 'sk-b' };

function stage(spec: Readonly<Record<string, unknown>> = {}) {
  const clock = makeClock();
  const calls: { readonly authorization: string | undefined; readonly timeoutMs: number }[] = [];
  let answer: (authorization: string | undefined) => CheckAnswer = () => ({ type: 'status', status: 200 });
  const changes: string[] = [];
  const prober = createProber({
    clock,
    random: () => 0.5,
    send: async (call, _route, timeoutMs) => {
      const { authorization } = call.headers;
      calls.push({ authorization, timeoutMs });
      return answer(authorization);
    },
    onChange: (id) => changes.push(id),
    onChecked: () => {},
  });
  onTestFinished(() => prober.close());
  const watch = (of: Readonly<Record<string, unknown>>, secrets = data) => {
    const compiled = createCompiler()(
      snapshot({ providers: [provider(of)], secrets: [secret({ data: secrets })] }),
      0,
    );
    prober.watch(compiled.healthChecks, compiled.table);
  };
  watch(spec);
  return {
    prober,
    changes,
    watch,
    pending: clock.pending,
    answerWith(next: typeof answer) {
      answer = next;
    },
    /** Moves on, and lets what fell due come to its end. */
    async pass(ms: number) {
      clock.advance(ms);
      await settle();
      return calls.splice(0);
    },
    state: () => prober.findings(ID)?.endpoint.state,
  };
}

const down = (): CheckAnswer => ({ type: 'status', status: 500 });
const up = (): CheckAnswer => ({ type: 'status', status: 200 });

test('the first check runs within a second, the next ones once an interval', async () => {
  const { pass, state } = stage({ healthCheck: { active: { interval: '30s', timeout: '2s' } } });
  expect(state()).toBeUndefined();
  expect(await pass(1_000)).toEqual([{ authorization: 'Bearer sk-upstream', timeoutMs: 2_000 }]);
  expect(state()).toBe('healthy');
  expect(await pass(29_000)).toEqual([]);
  expect(await pass(1_000)).toHaveLength(1);
});

test('failures make an upstream unhealthy at their threshold, successes healthy again at theirs', async () => {
  const { pass, state, answerWith, prober, changes } = stage();
  await pass(1_000);
  answerWith(down);
  for (const expected of ['healthy', 'healthy', 'unhealthy']) {
    await pass(MINUTE);
    expect(state()).toBe(expected);
  }
  expect(prober.hints()).toEqual([{ provider: ID }]);
  expect(prober.findings(ID)?.endpoint.message).toContain('was answered with 500');
  answerWith(up);
  for (const expected of ['unhealthy', 'healthy']) {
    await pass(MINUTE);
    expect(state()).toBe(expected);
  }
  expect(prober.hints()).toEqual([]);
  // Once for each finding that is new: healthy, unhealthy, healthy.
  expect(changes).toEqual([ID, ID, ID]);
});

test('an upstream that never answered is unhealthy at the threshold of failures, and healthy after one success', async () => {
  const { pass, state, answerWith } = stage({
    healthCheck: { active: { unhealthyThreshold: 2, healthyThreshold: 5 } },
  });
  answerWith(down);
  await pass(1_000);
  expect(state()).toBe('unknown');
  // Nothing is known of it: nobody waits an interval for the next word.
  await pass(1_000);
  expect(state()).toBe('unhealthy');
  expect(await pass(MINUTE - 1)).toEqual([]);
  answerWith(up);
  await pass(1);
  expect(state()).toBe('unhealthy');
});

describe('keys', () => {
  const two = { auth: { keys: [key('a'), key('b')] } };

  test('each key is checked; a rejected one is reported by name, and does not count against the upstream', async () => {
    const { pass, state, answerWith, prober } = stage(two);
    answerWith((authorization) => ({ type: 'status', status: authorization === 'Bearer sk-a' ? 401 : 200 }));
    expect(await pass(1_000)).toHaveLength(2);
    expect(state()).toBe('healthy');
    expect(prober.hints()).toEqual([{ provider: ID, key: 'a' }]);
  });

  test('one check is enough if the server does not answer, and keys get no result', async () => {
    const { pass, answerWith, prober } = stage(two);
    answerWith((authorization) => ({ type: 'status', status: authorization === 'Bearer sk-a' ? 401 : 200 }));
    await pass(1_000);
    answerWith(() => ({ type: 'none', reason: 'nobody is there' }));
    expect(await pass(MINUTE)).toHaveLength(1);
    expect([...(prober.findings(ID)?.refusedKeys.keys() ?? [])]).toEqual(['a']);
  });

  test('a new value in the Secret is checked at once, and the result of the old one is forgotten', async () => {
    const { pass, answerWith, prober, watch } = stage(two);
    answerWith(() => ({ type: 'status', status: 401 }));
    await pass(1_000);
    expect(prober.hints()).toHaveLength(2);
    answerWith(up);
    watch(two, { ...data, a: 'sk-a2' });
    expect(prober.hints()).toEqual([]);
    expect(await pass(1_000)).toHaveLength(2);
    expect(prober.hints()).toEqual([]);
  });
});

test('the same table again causes no check', async () => {
  const { pass, watch } = stage();
  await pass(1_000);
  watch({});
  expect(await pass(1_000)).toEqual([]);
});

test('a Provider that left the table is forgotten, with its timers', async () => {
  const { pass, prober, pending, answerWith } = stage({ healthCheck: { active: { unhealthyThreshold: 1 } } });
  answerWith(down);
  await pass(1_000);
  expect(prober.hints()).toHaveLength(1);
  prober.watch([], {
    providers: [],
    credentials: [],
    settings: { servicePrefix: 'p', keyPrefix: 'psk_', egressAllow: [] },
  });
  expect(prober.hints()).toEqual([]);
  expect(pending()).toEqual([]);
});

test('the result of the previous leader stays until a check changes it', async () => {
  const { pass, prober, watch, state } = stage({ healthCheck: { active: { healthyThreshold: 2 } } });
  prober.recall([{ provider: ID }]);
  watch({ healthCheck: { active: { healthyThreshold: 2 } } });
  expect(prober.hints()).toEqual([{ provider: ID }]);
  await pass(1_000);
  expect(state()).toBe('unhealthy');
  await pass(MINUTE);
  expect(state()).toBe('healthy');
});
