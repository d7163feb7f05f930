// Do our requests, and the simulator's answers, have the shapes that the clouds publish? Tool loops with reasoning, images and forms of an
// answer, of every client dialect at every surface of a cloud, are given to botocore's model of Bedrock, Google's types and discovery
// document, and the types of the SDKs of OpenAI and Anthropic.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CloudUpstream, cloudUpstreams, surfaces } from '../conformance/cloud-fronts.ts';
import { type EveryUpstream, startEveryUpstream } from '../conformance/every-upstream.ts';
import { city, hello, pixel } from '../conformance/samples.ts';
import { conversations } from '../conformance/tool-loops.ts';
import { testKey } from '../gateway/rig.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { pythonWith } from '../support/python.ts';

interface Exchange {
  readonly path: string;
  readonly request: string;
  readonly status: number;
  readonly answer: Buffer;
}

const exchanges: Exchange[] = [];
const closing: (() => void)[] = [];
let stage: EveryUpstream;
let python: string;

beforeAll(async () => {
  const pins = ['botocore==1.44.8', 'google-api-python-client==2.202.0', 'google-genai==3.6.1'];
  python = await pythonWith([...pins, 'openai==3.57.0', 'anthropic==2.14.0']);
  stage = await startEveryUpstream({}, {}, (_, url) => record(url));
});

afterAll(async () => {
  await stage.close();
  for (const close of closing) close();
});

/** Keeps what passes, and passes it on as it is. */
async function record(target: string): Promise<string> {
  const { origin, pathname } = new URL(target);
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>));
    const { method, url: path = '' } = incoming;
    const onward = ask(origin + path, { method, headers: incoming.headers }, async (came) => {
      outgoing.writeHead(came.statusCode ?? 0, came.headers);
      const chunks: Buffer[] = [];
      for await (const chunk of came as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        outgoing.write(chunk);
      }
      const answer = Buffer.concat(chunks);
      exchanges.push({ path, request: body.toString(), status: came.statusCode ?? 0, answer });
      outgoing.end();
    });
    onward.end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname === '/' ? '' : pathname}`;
}

/** A loop of three turns in each dialect, an image and a form of the answer. */
async function use(upstream: CloudUpstream): Promise<void> {
  const model = stage.model(upstream);
  stage.script(upstream, 'call=always,calls=2,reasoning=8');
  for (const converse of Object.values(conversations)) {
    const takeTurn = converse(stage.rig, model);
    for (const isStream of [false, true, false]) await takeTurn(isStream);
  }
  stage.script(upstream, null);
  const openai = new OpenAI({ baseURL: stage.baseUrl, apiKey: testKey, maxRetries: 0 });
  const image_url = { url: `data:image/png;base64,${pixel}` };
  const content = [
    { type: 'text' as const, text: hello },
    { type: 'image_url' as const, image_url },
  ];
  await openai.chat.completions.stream({ model, messages: [{ role: 'user', content }] }).done();
  await openai.chat.completions.parse({
    model,
    messages: [{ role: 'user', content: hello }],
    response_format: zodResponseFormat(city, 'city'),
  });
}

const judgeOf = (upstream: CloudUpstream): string => {
  const { cloud, dialect } = surfaces[upstream];
  if (dialect === 'bedrock-converse') return 'converse';
  if (dialect === 'google-generate-content') return cloud;
  return { 'openai-chat': 'chat', 'openai-responses': 'responses', 'anthropic-messages': 'messages' }[
    dialect
  ];
};

/** One list of faults for each. */
async function judge(cases: readonly object[]): Promise<readonly string[][]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const script = join(import.meta.dirname, 'clouds/cloud_schemas.py');
  const options = { env: bareEnvironment(), maxBuffer: 2 ** 28 };
  const child = execFile(python, [script], options, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  );
  child.stdin?.end(cases.map((one) => JSON.stringify(one)).join('\n'));
  const lines = (await promise).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as string[]);
}

test.each(cloudUpstreams)('all messages exchanged with %s have the published shapes', async (upstream) => {
  exchanges.length = 0;
  await use(upstream);
  const cases = exchanges.map(({ path, request, status, answer }) => ({
    dialect: judgeOf(upstream),
    model: surfaces[upstream].idOf(undefined),
    isStream: /stream/i.test(path) || /"stream":true/.test(request),
    // What a cloud wants in the body, and the vendor in the path or a header.
    added: ['anthropic_version'],
    request,
    status,
    answer: answer.toString('base64'),
  }));
  expect(cases.length).toBeGreaterThanOrEqual(11);
  expect(cases.map(({ status }) => status)).toEqual(cases.map(() => 200));
  const found = await judge(cases);
  expect(found).toHaveLength(cases.length);
  expect([...new Set(found.flat())]).toEqual([]);
});
