// Are whole values carried as they were written? Arguments and schemas are the caller's and the model's: numbers with all their
// digits, members in their order, words that nobody here knows.

import { describe, expect, test } from 'vitest';
import { translateThrough } from '../../support/translate-through.ts';
import { C, isTranslated, M, open, pairsOf, R } from './pitfalls/whole-way.ts';
import type { Members } from './support/askings.ts';
import { talkative } from './support/tellings.ts';

const value = '{"b":1.0,"10":1e2,"9":12345678901234567890,"a":{"x":[0.10,-0]},"t":"é \\"q\\""}';
const schema =
  '{"type":"object","properties":{"b":{"type":"number","default":1.0,"maximum":12345678901234567890},"10":{"x-new":1e2},"9":{"type":"string"}},"x-order":[3.0]}';
const dated = schema.replace('{', '{"$schema":"http://x/",');

type Talkative = (typeof talkative)[number];

/** A call in the history with these arguments, and a tool with this schema, byte by byte. */
function requestOf(client: Talkative, parameters: string): Buffer {
  const text = JSON.stringify(value);
  switch (client) {
    case C:
      return Buffer.from(
        `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":${text}}}]},{"role":"tool","tool_call_id":"c","content":"x"}],"tools":[{"type":"function","function":{"name":"look","parameters":${parameters}}}]}`,
      );
    case R:
      return Buffer.from(
        `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"look","arguments":${text}},{"type":"function_call_output","call_id":"c","output":"x"}],"tools":[{"type":"function","name":"look","parameters":${parameters}}]}`,
      );
    case M:
      return Buffer.from(
        `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"look","input":${value}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}],"tools":[{"name":"look","input_schema":${parameters}}]}`,
      );
  }
}

describe.each(pairsOf(talkative, talkative).filter(isTranslated))('from %s to %s', (client, upstream) => {
  const sentFor = (parameters: string): string =>
    String(translateThrough(client, upstream, requestOf(client, parameters)).sent[0]);

  test('arguments of the history', () => {
    expect(sentFor(schema)).toContain(upstream === M ? `"input":${value}` : JSON.stringify(value));
  });

  test('the schema of a tool', () => {
    expect(sentFor(schema)).toContain(`:${schema}`);
  });

  test('the numbers of a schema of which a word is left out', () => {
    const sent = sentFor(dated);
    for (const number of [':1.0', ':12345678901234567890', ':1e2', '[3.0]']) expect(sent).toContain(number);
    expect(sent.includes('$schema')).toBe(upstream === M);
  });
});

const formats: Readonly<Record<Talkative, (schema: string) => string>> = {
  [C]: (text) =>
    `"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${text}}}`,
  [R]: (text) => `"input":"x","text":{"format":{"type":"json_schema","name":"n","schema":${text}}}`,
  [M]: (text) =>
    `"max_tokens":9,"messages":[{"role":"user","content":"x"}],"output_config":{"format":{"type":"json_schema","schema":${text}}}`,
};

describe.each(pairsOf(talkative, talkative).filter(isTranslated))('from %s to %s', (client, upstream) => {
  const sentFor = (text: string, upstreamModel = 'm'): string =>
    String(
      translateThrough(client, upstream, Buffer.from(`{"model":"m",${formats[client](text)}}`), {
        upstreamModel,
      }).sent[0],
    );
  const closed =
    '{"type":"object","properties":{"n":{"type":"number","enum":[1.0,1e2]}},"required":["n"],"additionalProperties":false}';

  test('the schema of an answer', () => {
    expect(sentFor(closed)).toContain(`:${closed}`);
    expect(sentFor(closed, 'claude-opus-4-6')).toContain(`:${closed}`);
  });

  test('the numbers of a schema that has to change', () => {
    const open = closed.replace('"enum"', '"maximum":12345678901234567890,"enum"');
    const sent = sentFor(open, 'claude-opus-4-6');
    expect(sent).toContain('[1.0,1e2]');
    expect(sent).toContain('12345678901234567890');
  });
});

const answers: Readonly<Record<Talkative, string>> = {
  [C]: `{"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":${JSON.stringify(value)}}}]}}]}`,
  [R]: `{"id":"r","model":"m","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"c","name":"look","arguments":${JSON.stringify(value)}}]}`,
  [M]: `{"type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c","name":"look","input":${value}}],"usage":{"input_tokens":1,"output_tokens":1}}`,
};

test.each(pairsOf(talkative, talkative).filter(isTranslated))(
  '%s hears the arguments of a call at %s',
  (client, upstream) => {
    const outcome = open(client, upstream).plain(() => Buffer.from(answers[upstream]));
    if (outcome.type !== 'answered') throw outcome.error;
    expect(String(outcome.body)).toContain(client === M ? `"input":${value}` : JSON.stringify(value));
  },
);

test('a tool in an additional_tools item of Codex', () => {
  const item: Members = { type: 'additional_tools', role: 'developer', tools: ['SCHEMA'] };
  const tool = `{"type":"function","name":"more","parameters":${schema}}`;
  const text = JSON.stringify({ model: 'm', input: [item, { role: 'user', content: 'x' }] }).replace(
    '"SCHEMA"',
    () => tool,
  );
  expect(String(translateThrough(R, M, Buffer.from(text)).sent[0])).toContain(`:${schema}`);
});

test.each([
  [C, R],
  [R, C],
] as const)('the metadata of a client of %s, at %s', (client, upstream) => {
  const metadata = '{"b":"1","10":"2","9":"3"}';
  const text = `{"model":"m",${client === R ? '"input":"x"' : '"messages":[{"role":"user","content":"x"}]'},"store":true,"metadata":${metadata}}`;
  const [sent] = translateThrough(client, upstream, Buffer.from(text)).sent;
  expect(String(sent)).toContain(`"metadata":${metadata}`);
});
