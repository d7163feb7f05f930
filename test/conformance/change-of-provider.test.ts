// Can a conversation go on at another provider? Ten turns with tools and reasoning, whose turns are answered by two
// providers in turn, each with a secret of its own, and the same dialect or another: neither may ever see the other's
// signed or encrypted state, which it would refuse, and each gets its own back.

import type Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, test } from 'vitest';
import type { RoutingTable } from '../../core/contract/routing-table.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { ableUpstreams, allDialects, dialectOf, type PlainUpstream } from './every-upstream.ts';
import { statesIn } from './samples.ts';
import { conversations, converseInMessages } from './tool-loops.ts';

const turns = 10;

interface Pair {
  readonly rig: Rig;
  readonly simulators: readonly [Simulator, Simulator];
}

const pairs: Pair[] = [];

afterEach(async () => {
  for (const { rig, simulators } of pairs.splice(0)) {
    await rig.close();
    for (const simulator of simulators) await simulator.close();
  }
});

/** One model with two targets; the second is asked where the first fails. */
async function startPair(first: PlainUpstream, second: PlainUpstream): Promise<Pair> {
  const simulators = [
    await startSimulator({ sealKey: 'of the first' }),
    await startSimulator({ sealKey: 'of the second' }),
  ] as const;
  const rig = await startRig(tableFor(targetsOf(simulators, [first, second])), { random: () => 0 });
  const pair = { rig, simulators };
  pairs.push(pair);
  return pair;
}

function targetsOf(simulators: Pair['simulators'], upstreams: readonly PlainUpstream[]): RigTarget[] {
  return upstreams.map((upstream, at) => ({
    baseUrl: `${simulators[at]?.url}/v1`,
    name: `target-${at}`,
    provider: `platform/provider-${at}`,
    dialects: [dialectOf[upstream]],
    upstreamModel: 'sim',
    providerEntry: {
      dialects: [dialectOf[upstream]],
      breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 0 },
    },
  }));
}

function tableFor(targets: readonly RigTarget[]): RoutingTable {
  return tableOf(targets, { endpoints: [...allDialects] });
}

const orders = ableUpstreams.flatMap((first) =>
  ableUpstreams.map((second) => ({ first, second, title: `${first} and ${second}` })),
);

describe.each(Object.entries(conversations))('a %s conversation', (_, converse) => {
  test.each(orders)('goes on between $title', async ({ first, second }) => {
    const pair = await startPair(first, second);
    const takeTurn = converse(pair.rig);
    for (let turn = 0; turn < turns; turn += 1) {
      const directives = 'call=always,calls=2,reasoning=8';
      // In every second turn the first provider is out of order; it has read the request by then.
      pair.simulators[0].script('sim', turn % 2 === 0 ? directives : `${directives},fault=error-503`);
      pair.simulators[1].script('sim', directives);
      await takeTurn(turn % 4 > 1);
    }
    const [asked, helped] = pair.simulators.map((simulator) => simulator.calls());
    expect(asked?.map(({ ending }) => ending)).toEqual(
      Array.from({ length: turns }, (_, turn) => (turn % 2 === 0 ? 'complete' : 'error-503')),
    );
    expect(helped?.map(({ ending }) => ending)).toEqual(Array.from({ length: turns / 2 }, () => 'complete'));
    // What each gave in its five turns, but for the last, has come back to it. Chat has no state, only words: those of
    // the other may come along.
    const back = [
      statesIn(asked?.at(-1)?.body, dialectOf[first]),
      statesIn(helped?.at(-1)?.body, dialectOf[second]),
    ];
    const own = [turns / 2, turns / 2 - 1];
    for (const [at, upstream] of [first, second].entries()) {
      if (upstream === 'chat') expect(back[at]).toBeGreaterThanOrEqual(own[at] ?? 0);
      else expect(back[at]).toBe(own[at]);
    }
  });
});

describe('a messages conversation between two providers of messages', () => {
  const ways: readonly (readonly [string, Anthropic.ThinkingConfigParam, string, string])[] = [
    ['redacted', { type: 'adaptive', display: 'summarized' }, 'redacted', 'adaptive'],
    ['not shown', { type: 'adaptive', display: 'omitted' }, '', 'adaptive'],
    ['given a budget', { type: 'enabled', budget_tokens: 1_024 }, '', 'disabled'],
  ];

  test.each(ways)(
    'changes provider in the middle of a tool loop whose thinking is %s',
    async (_, thinking, how, then) => {
      const { rig, simulators } = await startPair('messages', 'messages');
      const takeTurn = converseInMessages(rig, thinking);
      for (let turn = 0; turn < turns; turn += 1) {
        const directives = `call=always,calls=2,reasoning=8${how === '' ? '' : `,${how}`}`;
        simulators[0].script('sim', turn % 4 < 2 ? directives : `${directives},fault=error-503`);
        simulators[1].script('sim', directives);
        await takeTurn(turn % 2 === 0);
      }
      const endings = simulators.map((simulator) => simulator.calls().map(({ ending }) => ending));
      expect(endings[0]).toEqual(
        Array.from({ length: turns }, (__, turn) => (turn % 4 < 2 ? 'complete' : 'error-503')),
      );
      expect(endings[1]).toEqual(Array.from({ length: 4 }, () => 'complete'));
      // In front of the calls that the second goes on from is the thinking of the first.
      const [taken] = simulators[1].calls();
      expect(taken?.body).toMatchObject({ thinking: { type: then } });
      // What the first gave in its six turns, but for the last, has come back to it.
      expect(statesIn(simulators[0].calls().at(-1)?.body, 'anthropic-messages')).toBe(5);
    },
  );
});

describe.each(['messages', 'responses'] as const)('what a %s provider has sealed', (dialect) => {
  const converse = conversations[dialect];
  const bodyOf = (simulator: Simulator): unknown => simulator.calls().at(-1)?.body;

  test('comes back to it when its model gets a second provider, and when it loses it again', async () => {
    const { rig, simulators } = await startPair(dialect, dialect);
    const both = tableFor(targetsOf(simulators, [dialect, dialect]));
    const alone = tableFor(targetsOf(simulators, [dialect]));
    for (const simulator of simulators) simulator.script('sim', 'call=always,calls=2,reasoning=8');
    const takeTurn = converse(rig);
    for (const [table, wanted] of [
      [alone, 0],
      [both, 1],
      [both, 2],
      [alone, 3],
    ] as const) {
      rig.offer(table);
      await takeTurn(wanted % 2 === 0);
      expect(statesIn(bodyOf(simulators[0]), dialectOf[dialect])).toBe(wanted);
    }
    expect(simulators[1].calls()).toEqual([]);
  });
});
