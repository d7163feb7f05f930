// Do the Python SDKs of OpenAI and Anthropic work on every upstream dialect? One process for each SDK.

import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { testKey } from '../gateway/rig.ts';
import { pythonWith, runPython } from '../support/python.ts';
import {
  type EveryUpstream,
  spokenTo,
  startEveryUpstream,
  type Upstream,
  upstreams,
} from './every-upstream.ts';
import { pixel, simCity, statesIn, toolkit } from './samples.ts';

let stage: EveryUpstream;

beforeAll(async () => {
  stage = await startEveryUpstream();
});

afterEach(() => stage.reset());

afterAll(() => stage.close());

const toolNames = toolkit.map(({ name }) => name);

const openaiErrors = {
  'fails-400': twice(['BadRequestError', 400, true]),
  'fails-404': twice(['NotFoundError', 404, true]),
  'fails-429': twice(['RateLimitError', 429, true]),
  'fails-503': twice(['InternalServerError', 503, true]),
  key: ['AuthenticationError', 401, true],
  'breaks-first': twice(['InternalServerError', 503, true]),
  'breaks-late': twice(['APIError']),
  'breaks-cut': twice(['APIError']),
};

const openaiSeen = (upstream: Upstream) => {
  const hasTools = upstream !== 'completions';
  const tools = { tools: toolNames, parsed: simCity };
  return {
    chat: {
      quotes: true,
      streams: true,
      usage: true,
      request_id: true,
      ...(hasTools ? { ...tools, image: true } : {}),
    },
    completions: { indexes: [0, 1, 2, 3], streams: true },
    responses: {
      quotes: true,
      streams: true,
      usage: true,
      ...(hasTools ? { ...tools, reasoning: 'reasoning' } : {}),
    },
    errors: openaiErrors,
  };
};

const anthropicSeen = (upstream: Upstream) => ({
  answers: {
    quotes: true,
    streams: true,
    usage: true,
    input: true,
    stop: 'end_turn',
    request_id: true,
    counts: true,
  },
  tools:
    upstream === 'completions'
      ? {}
      : { called: toolNames, thinking: 'thinking', structured: simCity, image: true },
  errors: {
    'fails-400': ['BadRequestError', 400, true],
    'fails-404': ['NotFoundError', 404, true],
    'fails-429': ['RateLimitError', 429, true],
    'fails-503': ['OverloadedError', 529, true],
    key: ['AuthenticationError', 401, true],
    'breaks-first': ['OverloadedError', 529, true],
    'breaks-late': ['APIStatusError', 200, true],
    'breaks-cut': ['APIStatusError', 200, true],
  },
});

const sdks = [
  { pin: 'openai==3.52.0', script: 'openai_sdk.py', seen: openaiSeen, conversations: 2 },
  { pin: 'anthropic==2.12.0', script: 'anthropic_sdk.py', seen: anthropicSeen, conversations: 1 },
  { pin: 'anthropic==1.17.0', script: 'anthropic_sdk.py', seen: anthropicSeen, conversations: 1 },
];

test.each(sdks)('$pin', { timeout: 300_000 }, async ({ pin, script, seen, conversations }) => {
  const python = await pythonWith([pin]);
  const text = await readFile(new URL(`python/${script}`, import.meta.url), 'utf8');
  const baseUrl = pin.startsWith('openai') ? stage.baseUrl : stage.url;
  const run = await runPython(python, text, { args: [baseUrl, testKey, pixel, ...upstreams] });
  expect(run.stderr).toBe('');
  expect(JSON.parse(run.stdout)).toEqual(
    Object.fromEntries(upstreams.map((upstream) => [upstream, seen(upstream)])),
  );
  for (const upstream of upstreams) {
    // It left in the middle of the slow answer.
    const { ending } = await stage.simulator.nextCall(
      ({ baseModel }) => baseModel === `sim-${upstream}-slow`,
    );
    expect(ending).toBe('client-gone');
    // The last of three turns brought back what the two before gave.
    const turns = stage.simulator.calls().filter(({ baseModel }) => baseModel === `sim-${upstream}-calls`);
    const states = turns
      .filter((_, at) => at % 3 === 2)
      .map(({ body }) => statesIn(body, spokenTo(upstream)));
    expect(states).toEqual(upstream === 'completions' ? [] : Array.from({ length: conversations }, () => 2));
  }
});

function twice<T>(value: T): readonly [T, T] {
  return [value, value];
}
