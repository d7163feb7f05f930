// Whatever bytes are changed in a valid request: the answer is the caller's mistake or a success, never a failure of
// ours. Seeded, so that a failure comes again; the message of a failure holds the bytes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import { parseBody } from '../../../gateway/endpoints/parse-body.ts';
import { GatewayError } from '../../../gateway/request/errors.ts';
import { podMemoryMib } from '../../../tools/bench/targets/pod-flags.ts';
import { readResident } from '../../e2e/scale/readings.ts';
import { bombard, bombedTable } from '../../support/attack/bombard.ts';
import { mutate } from '../../support/attack/mutate.ts';
import { openRaw, writeRequest } from '../../support/raw-client.ts';
import { makeRandom, makeSplitter } from '../../support/wall/split.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { launchListening, makeFolder } from '../process/gateway-process.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, get, portOf, post } from './ask.ts';

const seed = 20_261_121;

const seeds = {
  'openai-chat': {
    path: '/v1/chat/completions',
    text: '{"model":"m","messages":[{"role":"system","content":"h\\u00fc"},{"role":"user","content":[{"type":"text","text":"ü😀"}]}],"temperature":1.5e0,"n":2,"stop":["a","b"],"stream":true,"stream_options":{"include_usage":true},"logit_bias":{"5":-1},"metadata":{"a":"b"},"x":[[{}],null,-0.5]}',
  },
  'openai-responses': {
    path: '/v1/responses',
    text: '{"model":"m","input":[{"role":"developer","content":"h\\u00fc"},{"type":"message","role":"user","content":[{"type":"input_text","text":"ü😀"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}],"tools":[{"type":"namespace","name":"n","tools":[{"type":"custom","name":"f"}]}],"temperature":1.5e0,"max_output_tokens":16,"stream":true,"reasoning":{"effort":"low"},"store":false,"x":[[{}],null,-0.5]}',
  },
  'anthropic-messages': {
    path: '/v1/messages',
    text: '{"model":"m","max_tokens":16,"system":[{"type":"text","text":"h\\u00fc"}],"messages":[{"role":"user","content":[{"type":"text","text":"ü😀"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"stop_sequences":["a"],"stream":true,"thinking":{"type":"adaptive"},"x":[[{}],null,-0.5]}',
  },
  'openai-completions': {
    path: '/v1/completions',
    text: '{"model":"m","prompt":["a\\n","ü😀"],"max_tokens":16,"temperature":0,"top_p":1,"n":2,"stream":false,"stop":"x","presence_penalty":-2,"frequency_penalty":2.0,"echo":true,"best_of":2,"logprobs":null,"seed":7}',
  },
} as const;

/** What the gateway says to a body, before any upstream is asked. */
function judge(name: keyof typeof seeds, chunks: readonly Buffer[]): string {
  const dialect = findDialect(name);
  try {
    const body = parseBody(chunks);
    const facts = dialect.readRequest(body);
    dialect.translate(body, { upstreams: new Set(), header: () => undefined });
    return JSON.stringify(facts);
  } catch (error) {
    if (error instanceof GatewayError && error.status === 400) return error.message;
    throw error;
  }
}

describe.each(['openai-chat', 'openai-responses', 'anthropic-messages', 'openai-completions'] as const)(
  '%s',
  (name) => {
    const { path, text } = seeds[name];
    const valid = Buffer.from(text);

    test('3,000 changed bodies are read or refused as an error of the caller, however they are cut', () => {
      const random = makeRandom(seed);
      const split = makeSplitter({ seed, maxBytes: 40 });
      let accepted = 0;
      for (let run = 0; run < 3_000; run++) {
        const bytes = mutate(valid, random);
        let whole: string;
        try {
          whole = judge(name, [bytes]);
        } catch (cause) {
          throw new Error(`The body ${bytes.toString('base64')} broke the gateway`, { cause });
        }
        if (whole.startsWith('{')) accepted++;
        const cut = split(bytes);
        if (cut.length > 0) expect(judge(name, cut)).toBe(whole);
      }
      // Both kinds must be many, or the test looks at one half of the code only.
      expect(accepted).toBeGreaterThan(100);
      expect(accepted).toBeLessThan(2_850);
    });

    describe('over the wire', () => {
      let wall: Wall;
      let rig: Rig;

      beforeAll(async () => {
        wall = await startWall();
        rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects: ['openai-chat'] }]));
      });

      afterAll(async () => {
        await rig.close();
        await wall.close();
      });

      test('300 changed bodies on one connection: 200, 400 or 404, and the connection goes on', async () => {
        const random = makeRandom(seed + 1);
        const connection = await openRaw({ port: portOf(rig) });
        const statuses = new Map<number, number>();
        for (let run = 0; run < 300; run++) {
          const body = mutate(valid, random);
          await connection.send(writeRequest({ path, headers: bearer, body }));
          const answer = await connection.answer();
          const { text: reported } = await answer.finished;
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          expect([200, 400, 404], `${body.toString('base64')} was answered ${reported}`).toContain(
            answer.status,
          );
        }
        connection.close();
        expect(statuses.get(200)).toBeGreaterThan(10);
        expect(statuses.get(400)).toBeGreaterThan(20);
        expect(rig.failures).toEqual([]);
      });

      test('300 changed requests, head and all: an answer below 500 or a closed connection', async () => {
        const random = makeRandom(seed + 2);
        const whole = writeRequest({
          path,
          headers: { ...bearer, accept: '*/*', connection: 'close' },
          body: valid,
        });
        for (let run = 0; run < 300; run++) {
          const bytes = mutate(whole, random);
          const connection = await openRaw({ port: portOf(rig) });
          const answer = connection.answer().then(
            ({ status }) => status,
            () => 0,
          );
          await connection.send(bytes);
          connection.halfClose();
          expect(await connection.closed).not.toBe('self');
          expect(await answer, `${bytes.toString('base64')}`).toBeLessThan(500);
          connection.close();
        }
        expect(rig.failures).toEqual([]);
        expect((await get(rig, '/v1/models', bearer)).status).toBe(200);
      });
    });
  },
);

/** How late the event loop is by the process' own account, looked at twice a second; sorted. */
function lookAtLoop(metricsUrl: string): { end(): Promise<readonly number[]> } {
  const latenessMs: number[] = [];
  const timer = setInterval(async () => {
    const page = await fetch(`${metricsUrl}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    );
    const [, delay] = /^penstock_event_loop_delay_seconds (\S+)$/m.exec(page) ?? [];
    if (delay !== undefined) latenessMs.push(Number(delay) * 1_000);
  }, 500);
  return {
    async end() {
      clearInterval(timer);
      return latenessMs.toSorted((a, b) => a - b);
    },
  };
}

/** `npm run e2e -- overload` goes on for a quarter of an hour. */
const seconds = 4;
const warmSeconds = 1;
/** One after the other: two keep all of two cores from the tests beside it. */
const lanes = 1;

test(`${seconds} s of bombs and broken requests: the process lives, no error is internal, and others are served`, {
  timeout: 300_000,
}, async () => {
  const folder = await makeFolder();
  const wall = await startWall();
  await folder.putTable(bombedTable(wall.baseUrl));
  const gateway = await launchListening(folder, {
    NODE_OPTIONS: `--max-old-space-size=${Math.floor(podMemoryMib * 0.75)}`,
  });
  await gateway.process.line(/routing table in use/);
  const target = { port: portOf(gateway), authorization: bearer.authorization };
  // What stays after the first of them is what a warm process has.
  await bombard(target, { seed: seed + 100, seconds: warmSeconds, lanes });
  const before = await readResident(gateway.process);
  const looks = lookAtLoop(gateway.metricsUrl);
  const { sent, statuses, wrong } = await bombard(target, { seed, seconds: seconds - warmSeconds, lanes });
  const latenessMs = await looks.end();
  const after = await readResident(gateway.process);
  // Far more than either may be in the long form, which has a core of its own: what is looked for is what blocks or stays for good.
  expect(latenessMs.length).toBeGreaterThan(2);
  expect(latenessMs[Math.floor(latenessMs.length / 2)]).toBeLessThan(1_000);
  expect(after.nowMib - before.nowMib).toBeLessThan(300);
  expect(after.peakMib, 'as the container of the chart has it').toBeLessThan(podMemoryMib);
  expect(wrong).toEqual([]);
  // Both kinds must be many, or only one half of the code was looked at.
  expect(statuses.get(200)).toBeGreaterThan(sent / 100);
  expect(statuses.get(400)).toBeGreaterThan(sent / 20);
  expect(
    (
      await post(gateway, '/v1/chat/completions', {
        model: 'openai-chat',
        messages: [{ role: 'user', content: 'x' }],
      })
    ).status,
  ).toBe(200);
  expect(gateway.process.stdout()).not.toContain('a request failed');
  expect(await gateway.process.stop(20_000)).toEqual({ code: 0, signal: null });
  await wall.close();
  await folder.remove();
});
