// When every provider fails, how often is each asked? SDKs try three times by themselves, and the gateway up to three times for each:
// nine calls for one that is answered with an error. Reported not to, each official SDK asks once, and that makes three.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { type Rig, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { pythonWith, runPython } from '../support/python.ts';
import { type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { allDialects } from './every-upstream.ts';
import { pythonSdks } from './python-readers.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Three providers that all do the same. */
async function stageOf(behaviour: Behaviour): Promise<{ rig: Rig; walls: readonly Wall[] }> {
  const walls = await Promise.all([1, 2, 3].map(() => startWall(behaviour)));
  const dialects: DialectName[] = [...allDialects];
  const table = tableOf(walls.map(({ baseUrl }) => ({ baseUrl, dialects, providerEntry: { dialects } })));
  const rig = await startRig(table, { random: () => 0 });
  closers.push(...walls.map((wall) => () => wall.close()), () => rig.close());
  return { rig, walls };
}

const messages = [{ role: 'user' as const, content: 'three plain words' }];

/** As programs are written: with the SDK's own retries. */
const inNode: readonly (readonly [string, (rig: Rig, isStream: boolean) => Promise<unknown>])[] = [
  [
    'openai for Node, chat',
    (rig, stream) => openAi(rig).chat.completions.create({ model: 'm', messages, stream }),
  ],
  [
    'openai for Node, completions',
    (rig, stream) => openAi(rig).completions.create({ model: 'm', prompt: 'three plain words', stream }),
  ],
  [
    'openai for Node, responses',
    (rig, stream) => openAi(rig).responses.create({ model: 'm', input: 'three plain words', stream }),
  ],
  [
    'anthropic for Node, messages',
    (rig, stream) =>
      new Anthropic({ baseURL: rig.url, apiKey: testKey }).messages.create({
        model: 'm',
        max_tokens: 64,
        messages,
        stream,
      }),
  ],
];

function openAi({ baseUrl }: Rig): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: testKey });
}

/** Client requests and provider calls that one call of a program has made. */
function hitsOf({ records }: Rig, walls: readonly Wall[]): { requests: number; calls: readonly number[] } {
  return {
    requests: new Set(records.map(({ request }) => request)).size,
    calls: walls.map(({ calls }) => calls.length),
  };
}

const once = { requests: 1, calls: [1, 1, 1] };

test.each(inNode.flatMap(([name, ask]) => [true, false].map((isStream) => [name, isStream, ask] as const)))(
  '%s (streamed: %s) asks once when all three providers fail',
  async (_, isStream, ask) => {
    for (const behaviour of [{ type: 'status', status: 501 }, { type: 'html' }] as const) {
      const { rig, walls } = await stageOf(behaviour);
      const raised: unknown = await ask(rig, isStream).catch((error: unknown) => error);
      if (!(raised instanceof OpenAI.APIError || raised instanceof Anthropic.APIError)) throw raised;
      expect(raised.status).toBe(502);
      expect(hitsOf(rig, walls)).toEqual(once);
    }
  },
);

test.each(pythonSdks)(
  '$sdk asks once when all three providers fail',
  { timeout: 300_000 },
  async ({ pin }) => {
    const python = await pythonWith([pin]);
    const { rig, walls } = await stageOf({ type: 'status', status: 501 });
    const [library = ''] = pin.split('==');
    const args = [library, library === 'openai' ? rig.baseUrl : rig.url, testKey];
    const run = await runPython(python, script, { args });
    expect([run.stderr, run.stdout.trim()]).toEqual(['', '502']);
    expect(hitsOf(rig, walls)).toEqual(once);
  },
);

const script = `
import importlib, sys

library, address, key = sys.argv[1:]
sdk = importlib.import_module(library)
messages = [{"role": "user", "content": "three plain words"}]
try:
    if library == "openai":
        sdk.OpenAI(base_url=address, api_key=key).chat.completions.create(model="m", messages=messages)
    else:
        sdk.Anthropic(base_url=address, api_key=key).messages.create(model="m", max_tokens=64, messages=messages)
except sdk.APIStatusError as error:
    print(error.status_code)
`;

describe('a single upstream that is overloaded', () => {
  async function aloneWith(failures: readonly number[]): Promise<{ rig: Rig; wall: Wall }> {
    const script = failures.map((status): Behaviour => ({ type: 'status', status }));
    const wall = await startWall([...script, { type: 'answer' }]);
    const dialects: DialectName[] = [...allDialects];
    const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects, providerEntry: { dialects } }]), {
      random: () => 0,
    });
    closers.push(
      () => wall.close(),
      () => rig.close(),
    );
    return { rig, wall };
  }

  test.each(inNode.flatMap(([name, ask]) => [503, 529].map((status) => [name, status, ask] as const)))(
    '%s is answered after two times %i, and has asked once',
    async (_, status, ask) => {
      const { rig, wall } = await aloneWith([status, status]);
      await ask(rig, false);
      expect(hitsOf(rig, [wall])).toEqual({ requests: 1, calls: [3] });
    },
  );

  test.each(inNode)(
    '%s retries automatically after the gateway has given up, and is answered',
    async (_, ask) => {
      const { rig, wall } = await aloneWith([529, 503, 529, 503]);
      await ask(rig, true);
      expect(hitsOf(rig, [wall])).toEqual({ requests: 2, calls: [5] });
    },
  );
});

test('where SDKs are not reported, they ask three times: what the header is for', async () => {
  const wall = await startWall({ type: 'status', status: 503, headers: { 'retry-after-ms': '1' } });
  closers.push(() => wall.close());
  await expect(
    new OpenAI({ baseURL: wall.baseUrl, apiKey: testKey }).chat.completions.create({ model: 'm', messages }),
  ).rejects.toThrow(OpenAI.APIError);
  expect(wall.calls).toHaveLength(3);
});
