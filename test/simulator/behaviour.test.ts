// It behaves like a model where clients depend on it.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Simulator } from '../../simulator/server.ts';
import { startSimulator } from '../../simulator/server.ts';
import { countTokens } from '../../simulator/tokens.ts';
import type { Dialect } from './support.ts';
import { dialects, paths, post, request, textOf } from './support.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterAll(async () => {
  await simulator.close();
});

type Bag = Record<string, unknown>;

async function ask(dialect: Dialect, differs: Bag): Promise<Bag> {
  const response = await post(simulator.url, paths[dialect], request(dialect, differs));
  const body = (await response.json()) as Bag;
  expect(response.status, JSON.stringify(body)).toBe(200);
  return body;
}

const limitName: Record<Dialect, string> = {
  chat: 'max_tokens',
  completions: 'max_tokens',
  messages: 'max_tokens',
  responses: 'max_output_tokens',
};

const endPath: Record<Dialect, (body: Bag) => unknown> = {
  chat: (body) => (body.choices as Bag[])[0]?.finish_reason,
  completions: (body) => (body.choices as Bag[])[0]?.finish_reason,
  messages: (body) => body.stop_reason,
  responses: (body) => (body.incomplete_details as Bag | null)?.reason ?? body.status,
};

const ends: Record<Dialect, { stop: string; length: string }> = {
  chat: { stop: 'stop', length: 'length' },
  completions: { stop: 'stop', length: 'length' },
  messages: { stop: 'end_turn', length: 'max_tokens' },
  responses: { stop: 'completed', length: 'max_output_tokens' },
};

describe.each(dialects)('in %s', (dialect) => {
  it('the same request gets the same words, another one gets others', async () => {
    const [first, second] = [await ask(dialect, {}), await ask(dialect, {})];
    expect(textOf(dialect, first)).toBe(textOf(dialect, second));
    expect(first.id).not.toBe(second.id);
    const other = await ask(dialect, { model: 'sim-large' });
    expect(textOf(dialect, other)).not.toBe(textOf(dialect, first));
    expect(other.model).toBe('sim-large');
  });

  it('the limit of tokens is kept, and named as the reason', async () => {
    for (const limit of [16, 20]) {
      const body = await ask(dialect, { model: 'sim+tokens=50', [limitName[dialect]]: limit });
      expect(countTokens(textOf(dialect, body))).toBe(limit);
      expect(endPath[dialect](body)).toBe(ends[dialect].length);
    }
    const whole = await ask(dialect, { model: 'sim+tokens=50', [limitName[dialect]]: 50 });
    expect(endPath[dialect](whole)).toBe(ends[dialect].stop);
  });

  it('the length and the text can be asked for', async () => {
    for (const tokens of [1, 7, 90]) {
      expect(countTokens(textOf(dialect, await ask(dialect, { model: `sim+tokens=${tokens}` })))).toBe(
        tokens,
      );
    }
    expect(textOf(dialect, await ask(dialect, { model: 'sim+text=Say%20this%2C+tokens=1' }))).toBe(
      'Say this,',
    );
  });

  it('the directives of the header hold too', async () => {
    const response = await post(simulator.url, paths[dialect], request(dialect), {
      'x-simulator': 'text=From%20the%20header',
    });
    expect(textOf(dialect, await response.json())).toBe('From the header');
  });

  it('usage can be kept back', async () => {
    const body = await ask(dialect, { model: 'sim+usage=none' });
    expect(body.usage ?? null).toBeNull();
    expect(simulator.calls().at(-1)).toMatchObject({ isUsageSent: false, ending: 'complete' });
  });
});

const stopName = { chat: 'stop', completions: 'stop', messages: 'stop_sequences' } as const;

describe.each(['chat', 'completions', 'messages'] as const)('a stop sequence in %s', (dialect) => {
  it('ends the text before it, the earliest of several', async () => {
    const whole = textOf(dialect, await ask(dialect, {}));
    const body = await ask(dialect, { [stopName[dialect]]: ['You said', 'simulator', 'speaking'] });
    expect(textOf(dialect, body)).toBe(whole.slice(0, whole.indexOf('simulator')));
    expect(endPath[dialect](body)).toBe(dialect === 'messages' ? 'stop_sequence' : 'stop');
  });

  it('is not named when the limit came first', async () => {
    const body = await ask(dialect, { [stopName[dialect]]: ['simulator'], max_tokens: 2 });
    expect(endPath[dialect](body)).toBe(ends[dialect].length);
  });
});

const schema = {
  type: 'object',
  properties: {
    city: { type: 'string', pattern: '^[A-Z][a-z]+$' },
    days: { type: 'array', items: { type: 'integer', minimum: 1, maximum: 7 }, minItems: 2 },
    unit: { $ref: '#/$defs/unit' },
  },
  required: ['city', 'days', 'unit'],
  additionalProperties: false,
  $defs: { unit: { enum: ['c', 'f'] } },
};
/** The same as far as Anthropic's structured output can say it. */
const anthropicSchema = {
  ...schema,
  properties: {
    ...schema.properties,
    days: { type: 'array', items: { type: 'integer' }, minItems: 1 },
  },
};
const isValid = new Ajv2020({ strict: false }).compile(schema);
const isValidAtAnthropic = new Ajv2020({ strict: false }).compile(anthropicSchema);

type Tooled = Exclude<Dialect, 'completions'>;

const tools: Record<Tooled, unknown[]> = {
  chat: ['first', 'second'].map((name) => ({ type: 'function', function: { name, parameters: schema } })),
  messages: ['first', 'second'].map((name) => ({ name, input_schema: schema })),
  responses: ['first', 'second'].map((name) => ({ type: 'function', name, parameters: schema })),
};

const forced: Record<Tooled, unknown> = {
  chat: { type: 'function', function: { name: 'second' } },
  messages: { type: 'tool', name: 'second' },
  responses: { type: 'function', name: 'second' },
};

const withResult: Record<Tooled, Bag> = {
  chat: {
    messages: [
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'first', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'It is  18 degrees.' },
      { role: 'user', content: 'And now?' },
    ],
  },
  messages: {
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'first', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'It is  18 degrees.' }] },
          { type: 'text', text: 'And now?' },
        ],
      },
    ],
  },
  responses: {
    input: [
      { role: 'user', content: 'Hello' },
      { type: 'function_call', call_id: 'c1', name: 'first', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'It is  18 degrees.' },
      { role: 'user', content: 'And now?' },
    ],
  },
};

function callsIn(dialect: Tooled, body: Bag): { name: unknown; input: unknown; id: unknown }[] {
  if (dialect === 'chat') {
    const [choice] = body.choices as {
      message: { tool_calls?: { id: string; function: { name: string; arguments: string } }[] };
    }[];
    return (choice?.message.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      input: JSON.parse(call.function.arguments) as unknown,
    }));
  }
  if (dialect === 'messages') {
    return (body.content as Bag[])
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => ({ id, name, input }));
  }
  return (body.output as Bag[])
    .filter(({ type }) => type === 'function_call')
    .map((call) => ({
      id: call.call_id,
      name: call.name,
      input: JSON.parse(String(call.arguments)) as unknown,
    }));
}

describe.each(['chat', 'messages', 'responses'] as const)('tools in %s', (dialect) => {
  it('the first one is called, with arguments that its schema accepts', async () => {
    const calls = callsIn(dialect, await ask(dialect, { tools: tools[dialect] }));
    expect(calls.map(({ name }) => name)).toEqual(['first']);
    expect(isValid(calls[0]?.input), JSON.stringify(calls)).toBe(true);
  });

  it('a forced one is called instead', async () => {
    const calls = callsIn(
      dialect,
      await ask(dialect, { tools: tools[dialect], tool_choice: forced[dialect] }),
    );
    expect(calls.map(({ name }) => name)).toEqual(['second']);
  });

  it('several are called at once when asked for, each under a unique id, unless the caller forbids it', async () => {
    const calls = callsIn(dialect, await ask(dialect, { model: 'sim+calls=3', tools: tools[dialect] }));
    expect(calls.map(({ name }) => name)).toEqual(['first', 'second', 'first']);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
    const single =
      dialect === 'messages'
        ? { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }
        : { parallel_tool_calls: false };
    expect(
      callsIn(dialect, await ask(dialect, { model: 'sim+calls=3', tools: tools[dialect], ...single })),
    ).toHaveLength(1);
  });

  it('none is called when the caller or the script says so', async () => {
    const none = dialect === 'messages' ? { type: 'none' } : 'none';
    expect(callsIn(dialect, await ask(dialect, { tools: tools[dialect], tool_choice: none }))).toEqual([]);
    expect(callsIn(dialect, await ask(dialect, { model: 'sim+calls=0', tools: tools[dialect] }))).toEqual([]);
  });

  it('the script chooses the tool and its arguments', async () => {
    const model = `sim+tool=second+args=${encodeURIComponent('{"a":[1,"+"]}')}`;
    const [call] = callsIn(dialect, await ask(dialect, { model, tools: tools[dialect] }));
    expect(call).toMatchObject({ name: 'second', input: { a: [1, '+'] } });
  });

  it('after a result comes text that quotes it, even when more was said since; or a call when the script says so', async () => {
    const body = await ask(dialect, { tools: tools[dialect], ...withResult[dialect] });
    expect(textOf(dialect, body)).toContain('"It is  18 degrees."');
    const again = await ask(dialect, {
      model: 'sim+call=always',
      tools: tools[dialect],
      ...withResult[dialect],
    });
    expect(callsIn(dialect, again)).toHaveLength(1);
  });
});

describe.each(['chat', 'messages', 'responses'] as const)('a tool choice after a result in %s', (dialect) => {
  const insisting = dialect === 'messages' ? { type: 'any' } : 'required';

  it('that insists on a call gets one, of a tool that was not called yet', async () => {
    const body = await ask(dialect, {
      tools: tools[dialect],
      ...withResult[dialect],
      tool_choice: insisting,
    });
    expect(callsIn(dialect, body).map(({ name }) => name)).toEqual(['second']);
  });

  it('that insists on a call gets a call of the only tool again', async () => {
    const only = { tools: tools[dialect].slice(0, 1), ...withResult[dialect], tool_choice: insisting };
    expect(callsIn(dialect, await ask(dialect, only)).map(({ name }) => name)).toEqual(['first']);
  });

  it('that names a tool gets a call of that tool', async () => {
    const named = { tools: tools[dialect], ...withResult[dialect], tool_choice: forced[dialect] };
    expect(callsIn(dialect, await ask(dialect, named)).map(({ name }) => name)).toEqual(['second']);
  });
});

describe('structured output', () => {
  const format: Record<Tooled, Bag> = {
    chat: { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } },
    messages: { output_config: { format: { type: 'json_schema', schema: anthropicSchema } } },
    responses: { text: { format: { type: 'json_schema', name: 'a', schema } } },
  };
  it.each(['chat', 'messages', 'responses'] as const)(
    'is JSON that the schema accepts, in %s',
    async (dialect) => {
      const text = textOf(dialect, await ask(dialect, format[dialect]));
      const accepts = dialect === 'messages' ? isValidAtAnthropic : isValid;
      expect(accepts(JSON.parse(text)), text).toBe(true);
    },
  );
});

describe('reasoning', () => {
  it('counts inside the limit, and may leave nothing for the text', async () => {
    const body = await ask('chat', { reasoning_effort: 'high', max_completion_tokens: 10 });
    expect(body.choices).toMatchObject([{ message: { content: '' }, finish_reason: 'length' }]);
    expect(body.usage).toMatchObject({
      completion_tokens: 10,
      completion_tokens_details: { reasoning_tokens: 10 },
    });
  });

  it('is longer for a higher effort', async () => {
    const tokens: unknown[] = [];
    for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'new']) {
      const body = await ask('responses', { reasoning: { effort } });
      tokens.push((body.usage as { output_tokens_details: Bag }).output_tokens_details.reasoning_tokens);
    }
    expect(tokens).toEqual([0, 4, 8, 16, 32, 64, 128, 16]);
  });
});
