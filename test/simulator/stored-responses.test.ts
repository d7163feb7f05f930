// A provider keeps its responses unless it is asked not to: a later request may refer to them.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Simulator } from '../../simulator/server.ts';
import { startSimulator } from '../../simulator/server.ts';
import { shapes } from './shapes.ts';
import { parseEvents, paths, post, request } from './support.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterAll(() => simulator.close());

type Response = {
  id: string;
  store: boolean;
  output: { id: string; type: string }[];
  usage: { input_tokens: number };
};

const send = (differs: Record<string, unknown>) =>
  post(simulator.url, paths.responses, request('responses', differs));

async function answered(differs: Record<string, unknown>): Promise<Response> {
  const response = await send(differs);
  const body = await response.json();
  expect(response.status, JSON.stringify(body)).toBe(200);
  return shapes.responses.answer.parse(body) as Response;
}

const stored = (id: string, method = 'GET') => fetch(`${simulator.url}${paths.responses}/${id}`, { method });

it('a response can be fetched as it was answered, until it is deleted', async () => {
  const response = await answered({});
  expect(response.store).toBe(true);
  expect(await (await stored(response.id)).json()).toEqual(response);
  expect(await (await stored(response.id, 'DELETE')).json()).toEqual({
    id: response.id,
    object: 'response',
    deleted: true,
  });
  const gone = await stored(response.id);
  expect(gone.status).toBe(404);
  expect(await gone.json()).toMatchObject({
    error: { message: `Response with id '${response.id}' not found.` },
  });
});

it('a response that came as a stream is kept too', async () => {
  const text = await (await send({ stream: true })).text();
  const last = parseEvents(text).at(-1)?.data as { response: Response };
  expect(await (await stored(last.response.id)).json()).toEqual(last.response);
});

it('a response is not kept where the request says so', async () => {
  const response = await answered({ store: false });
  expect(response.store).toBe(false);
  expect((await stored(response.id)).status).toBe(404);
  expect((await send({ previous_response_id: response.id })).status).toBe(400);
});

it('a request that follows a response has its input, and that of the responses before it', async () => {
  const first = await answered({ input: 'One' });
  const second = await answered({ input: 'Two', previous_response_id: first.id });
  const third = await answered({ input: 'Three', previous_response_id: second.id });
  expect(second).toMatchObject({ previous_response_id: first.id });
  expect(second.usage.input_tokens).toBeGreaterThan(first.usage.input_tokens);
  expect(third.usage.input_tokens).toBeGreaterThan(second.usage.input_tokens);
});

const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

it('a result answers a call of the response before it', async () => {
  const called = await answered({ tools });
  const output = { type: 'function_call_output', call_id: callId(called), output: 'A dog' };
  const after = await answered({ tools, previous_response_id: called.id, input: [output] });
  expect(JSON.stringify(after.output)).toContain('A dog');
});

function callId({ output }: Response): unknown {
  return (output[0] as { call_id?: unknown } | undefined)?.call_id;
}

it('an item of a stored response can be referred to, reasoning without its state too', async () => {
  const first = await answered({ reasoning: { effort: 'low' } });
  const [reasoning, message] = first.output;
  const user = { role: 'user', content: 'And now?' };
  await answered({ input: [{ type: 'item_reference', id: message?.id }, user] });
  await answered({ input: [reasoning, message, user] });
});

it('a function is strict where the request does not say', async () => {
  const [look] = tools;
  const given = [look, { ...look, name: 'hear', strict: false }, { ...look, name: 'feel', strict: null }];
  const response = await answered({ tools: given, store: false });
  expect(response).toMatchObject({
    tools: [
      { name: 'look', strict: true },
      { name: 'hear', strict: false },
      { name: 'feel', strict: true },
    ],
  });
});
