// Can a cut stream ever look whole? A provider's connection ends at a random byte, in every framing; nobody who reads
// the gateway's answer may take what is left for an answer: not a raw reader, not the official SDKs.
//
// What this guards: a close-delimited body that is cut ends without any error in the transport, and then none of the
// official SDKs raises on its own. Only the terminal marker tells a whole answer from half of one.

import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName } from '../../gateway/contract/routing-table.ts';
import { type Rig, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { pythonWith, runPython } from '../support/python.ts';
import { makeRandom } from '../support/wall/split.ts';
import { type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { ask, dataOf, errorOf, isBag, parseJson, textOf, wallText } from './ask.ts';

const streams = 1_000;
const atOnce = 8;

/** Whose cut is a good end for the transport: only here the marker is the single sign. */
const cuts = ['chunked', 'close', 'content-length', 'reset', 'in-the-framing'] as const;

let wall: Wall;
let rig: Rig;

beforeAll(async () => {
  wall = await startWall();
  const target = (name: string, dialects: DialectName[]) => ({ name, baseUrl: wall.baseUrl, dialects });
  const table = tableOf([
    {
      ...target('chat', ['openai-chat']),
      // The breaker would stop the provider after five of its thousand failures.
      providerEntry: {
        breaker: { consecutiveFailures: 0, openForMs: 5_000, maxOpenMs: 5_000, rateLimitCooldownMs: 1 },
      },
    },
  ]);
  const [route] = table.routes;
  const [entry] = route?.targets ?? [];
  if (!route || !entry) throw new Error('the table has no target');
  const native = { ...entry, name: 'completions', dialects: ['openai-completions' as const] };
  // `m` speaks chat upstream, also for completions; `native` speaks completions.
  const routes = [route, { ...route, id: 'team/native', model: 'native', targets: [native] }];
  rig = await startRig({ ...table, routes }, { random: () => 0 });
});

afterAll(async () => {
  await rig.close();
  await wall.close();
});

/** A seeded script: each call is cut at a random byte of its answer, somewhere before its last one. */
async function cutAtRandom(seed: number): Promise<void> {
  const random = makeRandom(seed);
  const lengths = await measure();
  wall.script(({ path }): Behaviour => {
    const { wire, body } = lengths[path.endsWith('/chat/completions') ? 'chat' : 'completions'];
    const cut = cuts[Math.floor(random() * cuts.length)] ?? 'close';
    const after = cut === 'in-the-framing' ? { wireBytes: below(wire) } : { bytes: below(body) };
    const answer = { id: 'one' };
    if (cut === 'reset') return { type: 'reset', after, answer };
    const framing = cut === 'in-the-framing' ? 'chunked' : cut;
    return { type: 'cut', after, framing, answer };
  });
  function below(length: number): number {
    return Math.floor(random() * length);
  }
}

/** How long are whole answers, at the least? Later ones differ only in a longer request number in a header. */
async function measure(): Promise<Record<'chat' | 'completions', { wire: number; body: number }>> {
  wall.script({ type: 'answer', id: 'one' });
  const lengths: { wire: number; body: number }[] = [];
  for (const [endpoint, model] of [
    ['chat', 'm'],
    ['completions', 'native'],
  ] as const) {
    await ask(rig, { endpoint, isStream: true, more: { model } });
    const call = wall.calls.at(-1);
    if (!call) throw new Error('the wall was not asked');
    await call.finished;
    lengths.push({ wire: call.bytesWritten, body: call.bodyBytesWritten });
  }
  const [chat, completions] = lengths;
  if (!chat || !completions) throw new Error('two answers were measured');
  return { chat, completions };
}

async function times(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

describe.each([
  ['chat', 'chat', 'm'],
  ['completions', 'completions', 'native'],
  ['completions from a chat upstream', 'completions', 'm'],
] as const)('%s', (_name, endpoint, model) => {
  test(`${streams} cut streams, read raw: none ends well without its terminal marker`, async () => {
    await cutAtRandom(20_261);
    const seen = { whole: 0, brokenOff: 0, refused: 0 };
    const silent: string[] = [];
    await times(streams, async () => {
      const answer = await ask(rig, { endpoint, isStream: true, more: { model } });
      const isMarked = dataOf(answer).at(-1) === '[DONE]';
      const isGoodEnd = answer.ending === 'last-chunk' || answer.ending === 'length-complete';
      if (answer.status !== 200) {
        if (!isGoodEnd || errorOf(answer) === undefined) silent.push(`${answer.status}: ${answer.text}`);
        seen.refused++;
      } else if (isMarked && isGoodEnd && textOf(answer) === wallText) seen.whole++;
      else if (!isMarked && answer.ending === 'fin-early' && errorOf(answer)?.code === 'upstream_error')
        seen.brokenOff++;
      else silent.push(`${answer.ending}: ${answer.text}`);
    });
    expect(silent, `0 of ${streams} cut streams may look whole`).toEqual([]);
    expect(seen.whole + seen.brokenOff + seen.refused).toBe(streams);
    expect(seen.brokenOff, `streams broken off behind content, of ${streams}`).toBeGreaterThan(streams / 3);
    expect(seen.whole, `streams cut behind their finish reason, of ${streams}`).toBeGreaterThan(0);
    expect(rig.failures).toEqual([]);
  });
});

interface Tally {
  /** The finish reason came, and nothing was raised. */
  whole: number;
  /** Something was raised, and no finish reason had come. */
  raised: number;
  /** Of those: behind content. */
  raisedBehindContent: number;
  /** Neither; or both. */
  wrong: number;
}

function expectHonest(tally: Tally, records: typeof rig.records): void {
  expect(
    tally.wrong,
    `0 of ${streams} cut streams may be taken for an answer, or an answer for a cut one`,
  ).toBe(0);
  expect(tally.whole + tally.raised).toBe(streams);
  expect(tally.raisedBehindContent, `of ${streams}`).toBeGreaterThan(streams / 3);
  // The ledger saw the same as the SDK.
  const countOf = (outcome: string): number => records.filter((record) => record.outcome === outcome).length;
  expect([countOf('answered'), countOf('broken-off')]).toEqual([tally.whole, tally.raisedBehindContent]);
}

test(`${streams} cut streams, read by the OpenAI SDK for Node: it raises in every one without its marker`, async () => {
  await cutAtRandom(20_262);
  rig.records.length = 0;
  const openai = new OpenAI({ baseURL: rig.baseUrl, apiKey: testKey, maxRetries: 0 });
  const tally: Tally = { whole: 0, raised: 0, raisedBehindContent: 0, wrong: 0 };
  await times(streams, async () => {
    let isFinished = false;
    let hasContent = false;
    let hasRaised = false;
    try {
      const stream = await openai.chat.completions.create({
        model: 'm',
        messages: [{ role: 'user', content: 'three plain words' }],
        stream: true,
      });
      for await (const { choices } of stream) {
        isFinished ||= choices[0]?.finish_reason === 'stop';
        hasContent ||= (choices[0]?.delta.content ?? '') !== '';
      }
    } catch (error) {
      if (!(error instanceof OpenAI.APIError)) throw error;
      hasRaised = true;
    }
    if (hasRaised === isFinished) tally.wrong++;
    else if (isFinished) tally.whole++;
    else {
      tally.raised++;
      if (hasContent) tally.raisedBehindContent++;
    }
  });
  expectHonest(tally, rig.records);
});

describe('Python', () => {
  let python: string;
  beforeAll(async () => {
    python = await pythonWith(['openai==3.52.0']);
  }, 300_000);

  test(`${streams} cut streams, read by the OpenAI SDK for Python: it raises in every one without its marker`, {
    timeout: 120_000,
  }, async () => {
    await cutAtRandom(20_263);
    rig.records.length = 0;
    const run = await runPython(python, script, {
      args: [rig.baseUrl, testKey, String(streams), String(atOnce)],
      timeoutMs: 110_000,
    });
    expect(run.stderr).toBe('');
    expectHonest(readTally(parseJson(run.stdout)), rig.records);
  });
});

const script = `
import json, sys
from concurrent.futures import ThreadPoolExecutor
import openai

base_url, key, streams, at_once = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)

def read(_):
    finished = content = raised = False
    try:
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "three plain words"}], stream=True)
        for chunk in stream:
            for choice in chunk.choices:
                finished = finished or choice.finish_reason == "stop"
                content = content or bool(choice.delta.content)
    except openai.APIError:
        raised = True
    except Exception as error:
        # What the SDK lets through of its HTTP library; raised all the same.
        if type(error).__module__.split(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
            raise
        raised = True
    return finished, content, raised

tally = {"whole": 0, "raised": 0, "raisedBehindContent": 0, "wrong": 0}
with ThreadPoolExecutor(at_once) as pool:
    for finished, content, raised in pool.map(read, range(streams)):
        if finished == raised:
            tally["wrong"] += 1
        elif finished:
            tally["whole"] += 1
        else:
            tally["raised"] += 1
            tally["raisedBehindContent"] += content
print(json.dumps(tally))
`;

function readTally(value: unknown): Tally {
  const of = (name: keyof Tally): number => (isBag(value) ? Number(value[name]) : Number.NaN);
  return {
    whole: of('whole'),
    raised: of('raised'),
    raisedBehindContent: of('raisedBehindContent'),
    wrong: of('wrong'),
  };
}
