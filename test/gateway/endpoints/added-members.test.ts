// A member that the gateway adds to a request by itself is never the reason for which its caller is refused.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName, RouteEntry } from '../../../core/contract/routing-table.ts';
import type { Behaviour } from '../../support/wall/behaviour.ts';
import { type Call, startWall, type Wall } from '../../support/wall.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../rig.ts';
import { errorOf, post, recordOf } from './ask.ts';

const chat = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
const asked = {
  '/v1/chat/completions': chat,
  '/v1/completions': { model: 'm', prompt: 'x' },
  '/v1/responses': { model: 'm', input: 'x' },
  '/v1/messages': { ...chat, max_tokens: 50 },
} as const;
const paths = Object.keys(asked) as (keyof typeof asked)[];

let wall: Wall;
let rig: Rig | undefined;

beforeAll(async () => {
  wall = await startWall();
});

afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

afterAll(() => wall.close());

async function open(
  dialect: DialectName,
  more: Partial<RigTarget> = {},
  route: Partial<RouteEntry> = {},
): Promise<Rig> {
  const target = { baseUrl: wall.baseUrl, dialects: [dialect], providerEntry: { dialects: [dialect] } };
  rig = await startRig(tableOf([{ ...target, ...more }], route));
  return rig;
}

type Refusal = Extract<Behaviour, { type: 'status' }>;

/** The upstream refuses this member, whenever it is there. */
function refuse(member: string, refusal: Omit<Refusal, 'type'>): void {
  wall.script((call) => (member in bodyOf(call) ? { type: 'status', ...refusal } : { type: 'answer' }));
}

const bodyOf = ({ json }: Call): Record<string, unknown> => recordOf(json);

const refusals: readonly [string, Omit<Refusal, 'type'>][] = [
  [
    'Azure',
    {
      status: 400,
      body: {
        error: {
          message: 'Unrecognized request argument supplied: stream_options. Please contact us.',
          type: 'invalid_request_error',
          param: '',
        },
      },
    },
  ],
  ['OpenAI', { status: 400, body: { error: { message: 'Unknown parameter.', param: 'stream_options' } } }],
  [
    'FastAPI',
    {
      status: 422,
      body: {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'stream_options'],
            msg: 'Extra inputs are not permitted',
            input: {},
          },
        ],
      },
    },
  ],
  [
    'Mistral',
    {
      status: 422,
      body: {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'stream_options', 'include_usage'],
              msg: 'Extra inputs are not permitted',
            },
          ],
        },
        type: 'invalid_request_error',
      },
    },
  ],
];

describe('an upstream that rejects stream_options', () => {
  test.each(refusals)(
    'in the words of %s: every caller is served, and the lesson is learnt once',
    async (_, refusal) => {
      for (const dialect of ['openai-chat', 'openai-completions'] as const) {
        refuse('stream_options', refusal);
        const { url, records } = await open(dialect);
        const before = wall.calls.length;
        for (const path of paths) {
          const answer = await post({ url }, path, { ...asked[path], stream: true });
          expect([path, answer.status]).toEqual([path, 200]);
        }
        expect(wall.calls.length - before).toBe(paths.length + 1);
        const served = records.filter(({ outcome }) => outcome === 'answered');
        expect(served.map(({ isEstimated }) => isEstimated)).toEqual(paths.map(() => true));
        await rig?.close();
      }
    },
  );

  test('a plain answer that is fetched as a stream is served too', async () => {
    refuse('stream_options', { status: 400, error: { message: "Unknown parameter: 'stream_options'." } });
    const { url } = await open('openai-chat', {}, { upstreamStreaming: 'Always' });
    expect((await post({ url }, '/v1/chat/completions', chat)).status).toBe(200);
  });

  test('a caller that sent the member gets the error', async () => {
    refuse('stream_options', { status: 400, error: { message: "Unknown parameter: 'stream_options'." } });
    const { url } = await open('openai-chat');
    const before = wall.calls.length;
    const body = { ...chat, stream: true, stream_options: { include_usage: true } };
    const answer = await post({ url }, '/v1/chat/completions', body);
    expect([answer.status, errorOf(answer).message]).toEqual([400, "Unknown parameter: 'stream_options'."]);
    expect(wall.calls.length - before).toBe(1);
  });

  test('an error about a tool of that name is not about the member, whatever a second try gives', async () => {
    const { url } = await open('openai-chat');
    wall.script([
      { type: 'status', status: 400, error: { message: "Bad tool name: 'stream_options'" } },
      { type: 'answer' },
    ]);
    expect((await post({ url }, '/v1/chat/completions', { ...chat, stream: true })).status).toBe(400);
    wall.script({ type: 'answer' });
    await post({ url }, '/v1/chat/completions', { ...chat, stream: true });
    const last = wall.calls.at(-1);
    expect(last && bodyOf(last)).toHaveProperty('stream_options');
  });
});

test.each([
  ['openai-responses', 'store', "Unknown parameter: 'store'."],
  ['openai-completions', 'presence_penalty', 'body.presence_penalty: Extra inputs are not permitted'],
  ['openai-completions', 'n', "Unsupported parameter: 'n'"],
] as const)('an upstream of %s that rejects %s serves too', async (dialect, member, message) => {
  refuse(member, { status: 400, error: { message } });
  const { url } = await open(dialect);
  for (const path of ['/v1/chat/completions', '/v1/messages'] as const) {
    expect((await post({ url }, path, asked[path])).status).toBe(200);
  }
});

test('a rejected parameter of the route is not sent again without it', async () => {
  refuse('store', { status: 400, error: { message: "Unknown parameter: 'store'." } });
  const { url } = await open('openai-chat', { parameters: { store: false } });
  expect((await post({ url }, '/v1/chat/completions', chat)).status).toBe(400);
});
