// Do callers in front of a real Gateway API implementation and a real Ingress controller get events as they are made, and streams
// to their end? What the chart makes and the guide says is all that the edge is reported.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { edgeHosts, edgeValues, installEdgeKinds, startEdge } from './edge.ts';
import { loadEgress, type OwnedCluster, openTeam } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';
import { gatewayService, inRelease, installChart, smallPods } from './release.ts';

let cluster: OwnedCluster;
let key: string;
let edgePort: number;
let gateways: string;
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
  edgePort = await startEdge(cluster);
  gateways = await cluster.reach(gatewayService);
});
afterAll(() => cluster?.stop());

const throughEdge = (host: string) => `http://${host}:${edgePort}`;

/** The last is for comparison. */
const ways = [
  ['the Gateway API', () => throughEdge(edgeHosts.httpRoute)],
  ['an Ingress', () => throughEdge(edgeHosts.ingress)],
  ['the Service alone', () => gateways],
] as const;
const edgeWays = ways.slice(0, 2);

test('the Gateway accepts the HTTPRoute of the chart unchanged', async () => {
  const conditions = await cluster.mustKubectl([
    ...['get', 'httproute', 'penstock-gateway', ...inRelease],
    ...['-o', 'jsonpath={range .status.parents[*].conditions[*]}{.type}={.status} {end}'],
  ]);
  expect(conditions.trim().split(' ').sort()).toEqual(['Accepted=True', 'ResolvedRefs=True']);
});

// Envoy ends an answer after 15 s where it learns nothing else: each of these takes longer.
test.concurrent.each(ways)('by %s, the openai SDK gets 50 words over 20 s, one by one', async (way, url) => {
  const openai = new OpenAI({ baseURL: `${url()}/v1`, apiKey: key, maxRetries: 0 });
  const sentMs = performance.now();
  const stream = await openai.chat.completions.create({ model: 'slow', stream: true, messages });
  const times: number[] = [];
  let end: string | null | undefined;
  for await (const { choices } of stream) {
    if (choices[0]?.delta.content) times.push(performance.now() - sentMs);
    end = choices[0]?.finish_reason ?? end;
  }
  expect(end).toBe('stop');
  expectUnbuffered(`openai SDK by ${way}`, times);
});

test.concurrent.each(ways)(
  'by %s, the anthropic SDK has 50 words over 20 s, one by one',
  async (way, url) => {
    const anthropic = new Anthropic({ baseURL: url(), apiKey: key, maxRetries: 0 });
    const sentMs = performance.now();
    const times: number[] = [];
    const stream = anthropic.messages
      .stream({ model: 'slow', max_tokens: 1_000, messages })
      .on('text', () => times.push(performance.now() - sentMs));
    expect((await stream.finalMessage()).stop_reason).toBe('end_turn');
    expectUnbuffered(`anthropic SDK by ${way}`, times);
  },
);

test.concurrent.each(edgeWays)(
  'by %s, a stream that is silent for 28 s begins with a comment before its first word',
  async (way, url) => {
    const pieces = await streamPieces(url(), 'thoughtful');
    const comment = pieces.find(({ text }) => text.startsWith(':'));
    const word = pieces.find(({ text }) => text.includes('"content":"'));
    say(
      `by ${way}: after ${Math.round(comment?.atMs ?? 0)} ms a comment, after ${Math.round(word?.atMs ?? 0)} ms the first word`,
    );
    expect((word?.atMs ?? 0) - (comment?.atMs ?? 0)).toBeGreaterThan(1_500);
    expect(pieces.map(({ text }) => text).join('')).toMatch(/data: \[DONE\]\s*$/);
  },
);

test.concurrent('by an Ingress without the settings of the guide, Envoy cuts the stream', async () => {
  const sentMs = performance.now();
  const streaming = streamPieces(throughEdge(edgeHosts.httpRoute), 'slow', edgeHosts.plainIngress);
  await expect(streaming).rejects.toThrow('other side closed');
  say(`by an Ingress without the annotation, cut after ${Math.round(performance.now() - sentMs)} ms`);
});

test.each(edgeWays)('by %s, a request of 8 MiB arrives whole', async (way, url) => {
  const openai = new OpenAI({ baseURL: `${url()}/v1`, apiKey: key, maxRetries: 0 });
  const words = 'word'.repeat(2 * 1024 * 1024);
  const sentMs = performance.now();
  const { usage } = await openai.chat.completions.create({
    model: 'quick',
    messages: [{ role: 'user', content: words }],
  });
  say(`by ${way}: 8 MiB answered after ${Math.round(performance.now() - sentMs)} ms`);
  // The provider counts a token for every four letters, and some for what is around them.
  expect(usage?.prompt_tokens).toBeGreaterThanOrEqual(words.length / 4);
});

const messages: { role: 'user'; content: string }[] = [{ role: 'user', content: 'Say hello.' }];

/** Times in milliseconds since the request was sent. */
function expectUnbuffered(what: string, times: readonly number[]): void {
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  const sorted = gaps.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  say(
    `${what}: first word after ${Math.round(times[0] ?? 0)} ms, last after ${Math.round(times.at(-1) ?? 0)} ms; ${times.length} words, between two of them ${at(0.5)} ms (median), ${at(0)} to ${at(1)} ms`,
  );
  // The provider waits 400 ms before each.
  expect(times).toHaveLength(50);
  expect(at(0.5)).toBeGreaterThan(300);
  expect(at(0.5)).toBeLessThan(500);
}

interface StreamPiece {
  readonly text: string;
  /** Since the request was sent. */
  readonly atMs: number;
}

/** What comes over the line, as it comes. */
async function streamPieces(url: string, model: string, host?: string): Promise<StreamPiece[]> {
  const sentMs = performance.now();
  // Unlike fetch, it lets the caller name another host than the one it connects to.
  const { statusCode, body } = await request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(host !== undefined && { host }),
    },
    body: JSON.stringify({ model, stream: true, messages }),
  });
  expect(statusCode).toBe(200);
  const pieces: StreamPiece[] = [];
  for await (const text of body.setEncoding('utf8'))
    pieces.push({ text: String(text), atMs: performance.now() - sentMs });
  return pieces;
}
