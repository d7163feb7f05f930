// Do Codex CLI and Claude Code find every upstream dialect? What the real programs were seen to send (npm run e2e keeps
// it in test/fixtures/clients) is sent again: a first turn, and the turn with the result of the tool, with what the
// program would echo of the first answer put in.

import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { isBag } from '../../simulator/checks.ts';
import { testKey } from '../gateway/rig.ts';
import {
  ableUpstreams,
  type EveryUpstream,
  spokenTo,
  startEveryUpstream,
  type Upstream,
} from './every-upstream.ts';
import { statesIn } from './samples.ts';
import { checkShape } from './shapes.ts';
import { parseEvents } from './sse.ts';

let stage: EveryUpstream;

beforeAll(async () => {
  stage = await startEveryUpstream();
});

afterAll(() => stage.close());

type Bag = Record<string, unknown>;

/** Answered as the program reads it, to the turn that the program sends next. */
interface Client {
  readonly title: string;
  /** Where its recordings are, and how their names begin. */
  readonly folder: string;
  readonly prefix: string;
  /** The tool that runs commands, and what it is given. */
  readonly tool: string;
  readonly argsOn: (upstream: Upstream) => string;
  readonly native: Upstream;
  /** Puts what was answered into the place of what is in the recorded second turn. */
  readonly echo: (second: Bag, events: readonly Bag[]) => Bag;
  readonly textOf: (events: readonly Bag[]) => string;
  readonly lastEvent: string;
}

const clients: readonly Client[] = [
  {
    title: 'codex',
    folder: 'codex',
    prefix: '',
    tool: 'exec_command',
    argsOn: () => '{"cmd":"ls"}',
    native: 'responses',
    echo: echoToCodex,
    textOf: textOfResponse,
    lastEvent: 'response.completed',
  },
  {
    title: 'codex with a model that it knows',
    folder: 'codex',
    prefix: 'known-model-',
    // Takes a program as it is; elsewhere than in its own dialect that is an argument.
    tool: 'exec',
    argsOn: (upstream) => (upstream === 'responses' ? 'text("ls");' : '{"input":"text();"}'),
    native: 'responses',
    echo: echoToCodex,
    textOf: textOfResponse,
    lastEvent: 'response.completed',
  },
  {
    title: 'claude-code',
    folder: 'claude-code',
    prefix: '',
    tool: 'Bash',
    argsOn: () => '{"command":"ls"}',
    native: 'messages',
    echo: echoToClaudeCode,
    textOf: (events) =>
      blocksOf(events)
        .map(({ text }) => text ?? '')
        .join(''),
    lastEvent: 'message_stop',
  },
];

/** Of the programs alone: it says more about who works where than a provider of models needs to know. */
const privateHeaders =
  /^(x-codex|x-claude-code|x-stainless|session-id|thread-id|originator|x-app|x-openai-internal)/;

describe.each(clients)('$title', (client) => {
  afterEach(() => {
    stage.reset();
  });

  test.each(ableUpstreams)('does a turn with a tool call and a follow-up on %s', async (upstream) => {
    const args = encodeURIComponent(client.argsOn(upstream));
    stage.script(upstream, `reasoning=8,tool=${client.tool},args=${args}`);
    const first = await send(client, 'first-turn', upstream);
    expect([first.status, first.events.at(-1)?.type]).toEqual([200, client.lastEvent]);
    const second = await send(client, 'tool-result', upstream, (body) => client.echo(body, first.events));
    expect([second.status, second.events.at(-1)?.type]).toEqual([200, client.lastEvent]);
    expect(client.textOf(second.events)).toMatch(/^This is the simulator.*the tool ran/s);
    expect([...first.faults, ...second.faults]).toEqual([]);

    const calls = stage.newCalls(upstream);
    expect(calls.map(({ ending }) => ending)).toEqual(['complete', 'complete']);
    expect(statesIn(calls[1]?.body, spokenTo(upstream))).toBe(1);
    const headers = calls.flatMap((call) => Object.keys(call.headers));
    expect(headers.filter((name) => privateHeaders.test(name))).toEqual([]);
  });

  test('learns why a model without tools cannot serve it', async () => {
    const { status, text } = await send(client, 'first-turn', 'completions');
    expect(status).toBe(400);
    expect(text).toMatch(/'\S*tools\S*' cannot be carried to this model/);
    expect(stage.newCalls('completions')).toEqual([]);
  });
});

async function send(
  { folder, prefix, native }: Client,
  recording: string,
  upstream: Upstream,
  change: (body: Bag) => Bag = (body) => body,
) {
  const url = new URL(`../fixtures/clients/${folder}/${prefix}${recording}.json`, import.meta.url);
  // The prose of the prompts is not kept. Prose of about its length takes its place: answers repeat it.
  const prose = 'Do what is asked, and nothing else. '.repeat(100).trim();
  const fixture = JSON.parse((await readFile(url, 'utf8')).replaceAll('<long text>', prose));
  const response = await fetch(stage.url + fixture.path, {
    method: fixture.method,
    headers: { ...fixture.headers, authorization: `Bearer ${testKey}` },
    body: JSON.stringify({ ...change(fixture.body), model: stage.model(upstream) }),
  });
  const text = await response.text();
  const events = parseEvents(text).map(({ data }): Bag => JSON.parse(data));
  const faults = checkShape({
    path: fixture.path,
    status: response.status,
    contentType: response.headers.get('content-type') ?? '',
    text,
    isNative: native === upstream,
  });
  return { status: response.status, text, events, faults };
}

function textOfResponse(events: readonly Bag[]): string {
  return events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
}

/** Codex sends back every item as it came, and the output of the call. */
function echoToCodex(second: Bag, events: readonly Bag[]): Bag {
  const items = events.flatMap(({ type, item }) =>
    type === 'response.output_item.done' && isBag(item) ? [item] : [],
  );
  const call = items.find(({ type }) => String(type).endsWith('_call'));
  const recorded = bagsOf(second.input);
  const before = recorded.filter(({ type }) => !/^reasoning$|_call$|_call_output$/.test(String(type)));
  const outputs = recorded.filter(({ type }) => String(type).endsWith('_call_output'));
  const echoed = items.map((item) => (item.type === 'reasoning' ? { content: null, ...item } : item));
  return {
    ...second,
    input: [...before, ...echoed, ...outputs.map((output) => ({ ...output, call_id: call?.call_id }))],
  };
}

/** Claude Code sends back every block as it came, and the result of the call. */
function echoToClaudeCode(second: Bag, events: readonly Bag[]): Bag {
  const blocks = blocksOf(events);
  const call = blocks.find(({ type }) => type === 'tool_use');
  return {
    ...second,
    messages: bagsOf(second.messages).map((message) => {
      if (message.role === 'assistant') return { ...message, content: blocks };
      if (message.role !== 'user' || !Array.isArray(message.content)) return message;
      const content = bagsOf(message.content).map((block) =>
        block.type === 'tool_result' ? { ...block, tool_use_id: call?.id } : block,
      );
      return { ...message, content };
    }),
  };
}

/** The blocks that the events of a message tell of. */
function blocksOf(events: readonly Bag[]): Bag[] {
  const blocks: Bag[] = [];
  const inputs: string[] = [];
  for (const { type, index, content_block, delta } of events) {
    const at = Number(index);
    if (type === 'content_block_start' && isBag(content_block)) blocks[at] = { ...content_block };
    const block = blocks[at];
    if (type !== 'content_block_delta' || !isBag(delta) || block === undefined) continue;
    if (typeof delta.partial_json === 'string') inputs[at] = (inputs[at] ?? '') + delta.partial_json;
    for (const name of ['text', 'thinking', 'signature']) {
      if (typeof delta[name] === 'string') block[name] = `${block[name] ?? ''}${delta[name]}`;
    }
  }
  return blocks.map((block, at) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(inputs[at] ?? '{}') } : block,
  );
}

function bagsOf(value: unknown): Bag[] {
  return Array.isArray(value) ? value.filter(isBag) : [];
}
