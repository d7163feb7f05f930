// Can the session of an agent go round all clouds? Each turn is answered by another provider, each with secrets of its own, strict about what
// it reads: state of another one would be refused. Twice round, so that each gets its own state back.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { type CloudFronts, type CloudUpstream, startClouds } from './cloud-fronts.ts';
import { allDialects, dialectOf } from './every-upstream.ts';
import { hello } from './samples.ts';
import { conversations } from './tool-loops.ts';

const stops = [
  'openai',
  'azure-responses',
  'bedrock-converse',
  'vertex-claude',
  'gemini',
  'anthropic',
  'azure-chat',
  'bedrock-claude',
  'vertex-gemini',
  'vertex-openapi',
] as const satisfies readonly (CloudUpstream | 'openai' | 'anthropic')[];
type Stop = (typeof stops)[number];

const directives = 'call=always,calls=2,reasoning=8';
const vendors = ['openai', 'anthropic', 'azure', 'bedrock', 'vertex', 'gemini'] as const;
let simulators: Readonly<Record<(typeof vendors)[number], Simulator>>;
let clouds: CloudFronts;
let rig: Rig;

beforeAll(async () => {
  const started = await Promise.all(
    vendors.map(async (name) => [name, await startSimulator({ sealKey: `of ${name}` })] as const),
  );
  simulators = Object.fromEntries(started) as typeof simulators;
  const modelOf = (upstream: string, way?: string): string =>
    way === undefined ? `sim-${upstream}` : `sim-${upstream}-${way}+fault=error-503`;
  clouds = await startClouds((cloud) => simulators[cloud].url, modelOf, ['fails']);
  rig = await startRig(tableOf(stops.map((stop) => targetOf(stop))), {
    random: () => 0,
    seats: clouds.seats,
  });
});

afterAll(async () => {
  await rig.close();
  await clouds.close();
  for (const simulator of Object.values(simulators)) await simulator.close();
});

beforeEach(() => {
  for (const simulator of Object.values(simulators)) simulator.script('*', directives);
  for (const front of ['gemini', 'vertex-gemini'] as const) clouds.direct(front, directives);
  rig.records.length = 0;
});

/** @param way `fails`: it has read the request by then. */
function targetOf(stop: Stop, way?: 'fails'): RigTarget {
  const provider = `platform/${stop}`;
  const name = `${stop}-${way ?? 'answers'}`;
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 0 };
  if (stop !== 'openai' && stop !== 'anthropic') {
    const target = clouds.target(stop, way);
    return { ...target, name, provider, providerEntry: { ...target.providerEntry, breaker } };
  }
  const dialects = [dialectOf[stop === 'openai' ? 'responses' : 'messages']];
  return {
    baseUrl: `${simulators[stop].url}/v1`,
    name,
    provider,
    upstreamModel: way === undefined ? 'sim' : 'sim+fault=error-503',
    dialects,
    providerEntry: { dialects, breaker },
  };
}

/** What the upstreams were sent last, wherever that was. */
function lastBody(stop: Stop): string {
  const body =
    stop === 'gemini' || stop === 'vertex-gemini'
      ? clouds.callsOf(stop).at(-1)?.body
      : simulators[stop.split('-')[0] as (typeof vendors)[number]].calls().at(-1)?.body;
  return JSON.stringify(body);
}

const stopAt = (turn: number): Stop => stops[turn % stops.length] as Stop;
const around = (turn: number): Stop[] => stops.map((_, at) => stopAt(turn + at));
const own = (stop: Stop): boolean => !['azure-chat', 'vertex-openapi'].includes(stop);

describe.each(Object.entries(conversations))('a session in %s', (dialect, converse) => {
  test('cloud 17: changes its provider every turn, twice round, and keeps its context', async () => {
    const takeTurn = converse(rig);
    for (let turn = 0; turn < 2 * stops.length; turn += 1) {
      const stop = stopAt(turn);
      rig.offer(
        tableOf(
          around(turn).map((each) => targetOf(each)),
          { endpoints: [...allDialects] },
        ),
      );
      await takeTurn(turn % 2 === 1);
      const sent = lastBody(stop);
      expect(sent.split('sunny in sim')).toHaveLength(turn + 1);
      expect(sent.split('noon in sim')).toHaveLength(turn + 1);
      expect(sent).toContain(hello);
      // Chat alone has no place for all kinds of state.
      if (turn >= stops.length && own(stop) && dialect !== 'chat') expect(sent).toContain('"simulator1.');
    }
    expect(rig.records.map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 2 * stops.length }, () => 'answered'),
    );
    expect(rig.records.map(({ target }) => target)).toEqual(
      Array.from({ length: 2 * stops.length }, (_, turn) => `${stopAt(turn)}-answers`),
    );
  });

  test('goes on at the next provider whenever one fails in the middle of a tool loop', async () => {
    const takeTurn = converse(rig);
    for (let turn = 0; turn < stops.length; turn += 1) {
      const [first, ...others] = around(turn);
      const targets = [targetOf(first as Stop, 'fails'), ...others.map((each) => targetOf(each))];
      rig.offer(tableOf(targets, { endpoints: [...allDialects] }));
      await takeTurn(turn % 2 === 1);
      expect(lastBody(stopAt(turn + 1)).split('sunny in sim')).toHaveLength(turn + 1);
    }
    expect(rig.records.map(({ outcome, target }) => [target, outcome])).toEqual(
      Array.from({ length: stops.length }, (_, turn) => [
        [`${stopAt(turn)}-fails`, 'failed'],
        [`${stopAt(turn + 1)}-answers`, 'answered'],
      ]).flat(),
    );
  });
});
