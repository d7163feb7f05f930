// The official Anthropic SDK is happy with what the simulator says.

import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Simulator } from '../../simulator/server.ts';
import { startSimulator } from '../../simulator/server.ts';

let simulator: Simulator;
let anthropic: Anthropic;

beforeAll(async () => {
  simulator = await startSimulator();
  anthropic = new Anthropic({ baseURL: simulator.url, apiKey: 'any', maxRetries: 0 });
});

afterAll(async () => {
  await simulator.close();
});

const model = 'sim-small';
const hello: Anthropic.MessageParam[] = [{ role: 'user', content: 'Hello there' }];
const tools: Anthropic.Tool[] = [
  {
    name: 'weather',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];

describe('messages', () => {
  it('answers in a sentence that quotes the user', async () => {
    const answer = await anthropic.messages.create({ model, max_tokens: 100, messages: hello });
    expect(answer.content).toHaveLength(1);
    expect(answer.content[0]).toMatchObject({
      type: 'text',
      text: expect.stringContaining('"Hello there"') as string,
    });
    expect(answer._request_id).toMatch(/^req_/);
  });

  it('goes through the stream helper, word for word the same', async () => {
    const whole = await anthropic.messages.create({ model, max_tokens: 100, messages: hello });
    const stream = anthropic.messages.stream({ model, max_tokens: 100, messages: hello });
    let text = '';
    stream.on('text', (delta) => {
      text += delta;
    });
    const final = await stream.finalMessage();
    expect(final.content).toEqual(whole.content);
    expect(final.content[0]).toMatchObject({ text });
    expect(final.usage.output_tokens).toBe(simulator.calls().at(-1)?.tokens.output);
  });

  it('thinks, calls a tool, takes its own thinking back with the result, and quotes the result', async () => {
    const settings = {
      model,
      max_tokens: 4000,
      tools,
      thinking: { type: 'enabled' as const, budget_tokens: 2000 },
    };
    const asked = await anthropic.messages.stream({ ...settings, messages: hello }).finalMessage();
    expect([asked.stop_reason, ...asked.content.map(({ type }) => type)]).toEqual([
      'tool_use',
      'thinking',
      'tool_use',
    ]);
    const call = asked.content.find((block) => block.type === 'tool_use');
    if (call === undefined) throw new Error('no call');
    expect(call.input).toEqual({ city: 'sim' });
    const answered = await anthropic.messages.create({
      ...settings,
      messages: [
        ...hello,
        { role: 'assistant', content: asked.content as Anthropic.ContentBlockParam[] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '18 degrees' }] },
      ],
    });
    expect(answered.content.at(-1)).toMatchObject({
      type: 'text',
      text: expect.stringContaining('18 degrees') as string,
    });
    expect(answered.stop_reason).toBe('end_turn');
  });

  it('streams parallel calls whose inputs are whole', async () => {
    const stream = anthropic.messages.stream({
      model: 'sim+calls=2',
      max_tokens: 100,
      messages: hello,
      tools,
    });
    const { content } = await stream.finalMessage();
    expect(content.map((block) => (block.type === 'tool_use' ? block.input : undefined))).toEqual([
      { city: 'sim' },
      { city: 'sim' },
    ]);
    expect(new Set(content.map((block) => (block.type === 'tool_use' ? block.id : '')))).toHaveProperty(
      'size',
      2,
    );
  });

  it('names the stop sequence', async () => {
    const answer = await anthropic.messages.create({
      model,
      max_tokens: 100,
      messages: hello,
      stop_sequences: ['simulator'],
    });
    expect([answer.stop_reason, answer.stop_sequence]).toEqual(['stop_sequence', 'simulator']);
  });

  it('raises an error of the right class, plain and inside a stream', async () => {
    const failing = anthropic.messages.create({
      model: 'sim+fault=error-429',
      max_tokens: 9,
      messages: hello,
    });
    await expect(failing).rejects.toBeInstanceOf(Anthropic.RateLimitError);
    const stream = anthropic.messages.stream({
      model: 'sim+fault=error-after:2+status=529',
      max_tokens: 99,
      messages: hello,
    });
    await expect(stream.finalMessage()).rejects.toThrow('overloaded_error');
    const cut = anthropic.messages.stream({ model: 'sim+fault=no-done', max_tokens: 99, messages: hello });
    await expect(cut.finalMessage()).rejects.toThrow();
  });
});

describe('counting', () => {
  it('says what a call would report, and uses nothing', async () => {
    const counted = await anthropic.messages.countTokens({ model, messages: hello, tools });
    const answer = await anthropic.messages.create({ model, max_tokens: 100, messages: hello, tools });
    expect(counted.input_tokens).toBe(answer.usage.input_tokens);
    const [call] = simulator.calls().filter(({ endpoint }) => endpoint === '/v1/messages/count_tokens');
    expect(call?.tokens).toMatchObject({ input: 0, output: 0 });
  });
});

describe('models', () => {
  it('are listed and found', async () => {
    const names: string[] = [];
    for await (const entry of anthropic.models.list()) names.push(entry.display_name);
    expect(names).toContain('Simulator sim-small');
    expect((await anthropic.models.retrieve(model)).id).toBe(model);
  });
});
