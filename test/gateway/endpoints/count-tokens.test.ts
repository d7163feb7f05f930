// POST /v1/messages/count_tokens: asked of the upstream where it can count, else estimated, and never
// too low.

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { messagesErrorOf, post, recordOf } from './ask.ts';
import { type Served, serveFrom } from './served.ts';

const path = '/v1/messages/count_tokens';
const question = {
  model: 'm',
  system: 'You are a weather service.',
  messages: [{ role: 'user', content: 'What is the weather in Zürich, 苏黎世? '.repeat(20) }],
  tools: [
    {
      name: 'get_weather',
      description: 'Weather of a city.',
      input_schema: { type: 'object', properties: { city: { type: 'string' } } },
    },
  ],
};

/** Prose, and what is dense in tokens. */
const texts = [
  'What is the weather in Zürich, 苏黎世? '.repeat(20),
  'a b c d '.repeat(500),
  'x = y + 1; '.repeat(300),
  '1 2 3 '.repeat(500),
];

async function counted(
  dialect: DialectName,
  body: object,
  look: (served: Served, answer: Awaited<ReturnType<typeof post>>) => void | Promise<void>,
): Promise<void> {
  const served = await serveFrom(dialect);
  try {
    await look(served, await post(served.rig, `${path}?beta=true`, JSON.stringify(body)));
  } finally {
    await served.close();
  }
}

describe('exactly', () => {
  test.each([
    ['anthropic-messages', '/v1/messages/count_tokens'],
    ['openai-responses', '/v1/responses/input_tokens'],
  ] as const)('%s upstreams are asked', async (dialect, endpoint) => {
    await counted(dialect, question, ({ rig, latest }, answer) => {
      expect(answer.status).toBe(200);
      expect(latest().endpoint).toBe(endpoint);
      expect(latest().status).toBe(200);
      expect(Number(recordOf(answer.json).input_tokens)).toBeGreaterThan(50);
      expect(answer.headers['x-penstock-estimated']).toBeUndefined();
      expect(rig.records).toEqual([]);
    });
  });
});

describe('by an estimate', () => {
  test.each(['openai-chat', 'openai-completions'] as const)(
    '62: %s upstreams cannot count; the estimate is labelled and not below what is counted',
    async (dialect) => {
      for (const text of texts)
        await expectNotBelow(dialect, { ...question, messages: [{ role: 'user', content: text }] });
    },
  );

  async function expectNotBelow(dialect: DialectName, asked: object): Promise<void> {
    let exact = 0;
    await counted('anthropic-messages', asked, (_, answer) => {
      exact = Number(recordOf(answer.json).input_tokens);
    });
    await counted(dialect, asked, ({ simulator }, answer) => {
      expect(answer.headers['x-penstock-estimated']).toBe('true');
      expect(Number(recordOf(answer.json).input_tokens)).toBeGreaterThanOrEqual(exact);
      expect(simulator.calls()).toHaveLength(0);
    });
  }

  test('if the upstream fails', async () => {
    const served = await serveFrom('anthropic-messages');
    served.simulator.script('sim-small', 'fault=error-500');
    try {
      const answer = await post(served.rig, path, question);
      expect([answer.status, answer.headers['x-penstock-estimated']]).toEqual([200, 'true']);
    } finally {
      await served.close();
    }
  });
});

test.each([
  [{ ...question, model: 'nobody' }, 404, 'model_not_found'],
  [{ ...question, messages: 'x' }, 400, 'invalid_parameter'],
])('errors are as on /v1/messages', async (body, status, code) => {
  await counted('anthropic-messages', body, (_, answer) => {
    expect([answer.status, messagesErrorOf(answer).error.code]).toEqual([status, code]);
  });
});

test('a file counts by its pages, not by its encoded length', async () => {
  const data = Buffer.alloc(1_000_000, 'x').toString('base64');
  const source = { type: 'base64', media_type: 'application/pdf', data };
  const asked = { ...question, messages: [{ role: 'user', content: [{ type: 'document', source }] }] };
  await counted('openai-chat', asked, (_, answer) => {
    const tokens = Number(recordOf(answer.json).input_tokens);
    expect(tokens).toBeGreaterThan(3_000);
    expect(tokens).toBeLessThan(400_000);
  });
});
