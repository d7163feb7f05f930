// Do callers in front of a real Gateway API implementation and a real Ingress controller get events as they are made, and streams
// to their end?

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { edgeValues, installEdgeKinds, startEdge } from './edge.ts';
import { loadEgress, type OwnedCluster, openTeam } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';
import { installChart, smallPods } from './release.ts';

let cluster: OwnedCluster;
let key: string;
let port: number;
const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);

beforeAll(async () => {
  cluster = await openOwnNodes({ say });
  await installEdgeKinds(cluster);
  await installChart(cluster, {
    egress: loadEgress,
    operator: smallPods,
    gateway: { ...smallPods, ...edgeValues },
  });
  key = await openTeam(cluster);
  port = await startEdge(cluster);
});
afterAll(() => cluster?.stop());

/** The HTTPRoute takes every host but the one that the Ingress names. */
const ways = [
  ['the Gateway API', '127.0.0.1'],
  ['an Ingress', 'localhost'],
] as const;

test.each(ways)('by %s, the openai SDK has 50 words over 20 s, one by one', async (way, host) => {
  const openai = new OpenAI({ baseURL: `http://${host}:${port}/v1`, apiKey: key, maxRetries: 0 });
  const stream = await openai.chat.completions.create({
    model: 'slow',
    stream: true,
    messages: [{ role: 'user', content: 'Say hello.' }],
  });
  const times: number[] = [];
  let end: string | null | undefined;
  for await (const { choices } of stream) {
    if (choices[0]?.delta.content) times.push(performance.now());
    end = choices[0]?.finish_reason ?? end;
  }
  expect(end).toBe('stop');
  expectUnbuffered(`openai SDK by ${way}`, times);
});

test.each(ways)('by %s, the anthropic SDK has 50 words over 20 s, one by one', async (way, host) => {
  const anthropic = new Anthropic({ baseURL: `http://${host}:${port}`, apiKey: key, maxRetries: 0 });
  const times: number[] = [];
  const stream = anthropic.messages
    .stream({ model: 'slow', max_tokens: 1_000, messages: [{ role: 'user', content: 'Say hello.' }] })
    .on('text', () => times.push(performance.now()));
  expect((await stream.finalMessage()).stop_reason).toBe('end_turn');
  expectUnbuffered(`anthropic SDK by ${way}`, times);
});

function expectUnbuffered(what: string, times: readonly number[]): void {
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  const sorted = gaps.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  say(
    `${what}: ${times.length} pieces, between two of them ${Math.round(median)} ms (median), ${Math.round(sorted[0] ?? 0)} to ${Math.round(sorted.at(-1) ?? 0)} ms`,
  );
  // The provider waits 400 ms before each.
  expect(times).toHaveLength(50);
  expect(median).toBeGreaterThan(300);
  expect(median).toBeLessThan(500);
}
