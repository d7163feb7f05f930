// Where a route names the model that was asked for: does an answer that passes through name it wherever it names one, however
// it is written and cut, and is every other byte as it came?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GatheredStream } from '../../../../gateway/dialects/answer/gathered-stream.ts';
import { relayMessages } from '../../../../gateway/dialects/anthropic-messages/relay.ts';
import type { AnswerStream, SameDialect } from '../../../../gateway/dialects/dialect.ts';
import { relayChat } from '../../../../gateway/dialects/openai-chat/relay.ts';
import { relayCompletions } from '../../../../gateway/dialects/openai-completions/relay.ts';
import { relayResponses } from '../../../../gateway/dialects/openai-responses/relay.ts';
import { answerAsRequested, streamAsRequested } from '../../../../gateway/dialects/response-model.ts';
import { cutStep, runs } from '../../../support/runs.ts';
import { messageDelta, messageStop, textDelta, wholeMessage } from '../support/messages-events.ts';
import { waysToWrite } from '../support/named-events.ts';
import { delta, frame, streams, wholeChat, wholeCompletion } from '../support/openai-streams.ts';
import { cutAt, readPieces, sentText } from '../support/read-pieces.ts';
import { responseBeginning, wholeResponse } from '../support/response-events.ts';
import { streamFacts } from './stream-facts.ts';

/** Longer than what it replaces, and not only of plain letters. */
const asked = 'penstock/überall "m"';
const served = '"model":"served"';
const named = `"model":${JSON.stringify(asked)}`;

const fragile = '"\\u0041\\/\\ud800 é😀",1e400,-0,12345678901234567890,1.0';
/** None of these is the model of the answer. */
const decoys = `"n":[${fragile},{"model":"served "}],"x":{"model":"served "},"say":"\\"model\\":\\"served\\""`;

const withDecoys = (text: string): string => text.replaceAll('data: {', `data: {${decoys},`);

function openOf(relay: SameDialect, isAssured = false): () => AnswerStream {
  const facts = { ...streamFacts, wantsUsage: true };
  return () => {
    const relayed = relay.relayStream(facts);
    const stream = isAssured ? new GatheredStream(relayed, relay, 1024 * 1024) : relayed;
    return streamAsRequested(stream, relay, asked);
  };
}

const read = (stream: AnswerStream, pieces: readonly Buffer[]) => {
  const reading = readPieces(stream, pieces);
  return { sent: sentText(reading), facts: { ...reading.facts }, flaw: stream.flaw?.() };
};

const dialects: readonly (readonly [string, SameDialect, string, Readonly<Record<string, string>>])[] = [
  ['chat', relayChat, wholeChat, streams],
  ['completions', relayCompletions, wholeCompletion, { 'a whole completion': wholeCompletion }],
  ['messages', relayMessages, wholeMessage, waysToWrite(wholeMessage)],
  ['responses', relayResponses, wholeResponse, waysToWrite(wholeResponse)],
];

describe.each(dialects)('a %s stream', (_, relay, whole, ways) => {
  const relayed = (text: string): ReturnType<typeof read> =>
    read(relay.relayStream({ ...streamFacts, wantsUsage: true }), [Buffer.from(text)]);

  test('names the requested model in every event, and keeps every other byte', () => {
    const text = withDecoys(whole);
    const plain = relayed(text);
    const { sent, facts } = read(openOf(relay)(), [Buffer.from(text)]);
    expect(plain.sent.split(served).length).toBeGreaterThan(1);
    expect(sent).toBe(plain.sent.replaceAll(served, named));
    // What the upstream has served is still known.
    expect(facts).toEqual(plain.facts);
    expect(facts).toMatchObject({ isComplete: true, servedModel: 'served' });
  });

  test.each(Object.entries(ways))(
    'names it alike however it is written and cut, and tells the gateway the same: %s',
    (__, text) => {
      const bytes = Buffer.from(withDecoys(text));
      const unnamed = relayed(withDecoys(text));
      const wanted = JSON.stringify({ ...unnamed, sent: unnamed.sent.replaceAll(served, named) });
      for (let at = 0; at <= bytes.length; at += cutStep(7)) {
        const halves = JSON.stringify(read(openOf(relay)(), [bytes.subarray(0, at), bytes.subarray(at)]));
        // Comparing is dear; a message is only needed where they differ.
        if (halves !== wanted) expect(halves, `cut at ${at}`).toBe(wanted);
      }
      fc.assert(
        fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 40 }), (cuts) => {
          expect(JSON.stringify(read(openOf(relay)(), cutAt(bytes, cuts)))).toBe(wanted);
        }),
        { seed: 23, numRuns: runs(20) },
      );
    },
  );

  test('that is held until it is complete is renamed and checked alike', () => {
    const { sent, flaw } = read(openOf(relay, true)(), [Buffer.from(whole)]);
    expect(sent).toBe(read(openOf(relay)(), [Buffer.from(whole)]).sent);
    expect(flaw).toBeUndefined();
  });
});

test('an unusable answer that is held is still reported as unusable', () => {
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{"half' } };
  const text = frame(delta({ tool_calls: [call] })) + frame(delta({}, 'tool_calls')) + frame('[DONE]');
  expect(read(openOf(relayChat, true)(), [Buffer.from(text)]).flaw).toContain('arguments');
});

test('any chunk names the requested model and keeps the rest', () => {
  const space = fc.constantFrom('', ' ', '\t', '  ');
  const member = fc.tuple(
    fc.constantFrom<string[]>('a', 'choices', 'modeln', 'Model', 'model '),
    fc.jsonValue(),
  );
  const model = fc.tuple(fc.constant<string>('model'), fc.jsonValue());
  const chunk = fc
    .tuple(
      fc.uniqueArray(member, { selector: ([name]) => name, maxLength: 4 }),
      fc.option(model),
      fc.nat(4),
      space,
    )
    .map(([members, own, place, gap]) => {
      const all = own === null ? members : members.toSpliced(place, 0, own);
      const text = all.map(
        ([name, value]) => `${gap}${JSON.stringify(name)}${gap}:${gap}${JSON.stringify(value)}${gap}`,
      );
      return { text: `{${text.join(',')}${gap}}`, hasModel: own !== null };
    });
  fc.assert(
    fc.property(chunk, ({ text, hasModel }) => {
      // Relayed as it is, whatever it says.
      const source: AnswerStream = {
        facts: relayChat.relayStream(streamFacts).facts,
        push: (bytes) => bytes,
        end: () => undefined,
      };
      const given = streamAsRequested(source, relayChat, asked).push(Buffer.from(`data: ${text}\n\n`));
      const said: unknown = JSON.parse(String(given).slice('data: '.length));
      const before: object = JSON.parse(text);
      expect(said).toEqual(hasModel ? { ...before, model: asked } : before);
      if (!hasModel) expect(String(given)).toBe(`data: ${text}\n\n`);
      expect(JSON.parse(String(answerAsRequested(Buffer.from(text), asked)))).toEqual(said);
    }),
    { seed: 29, numRuns: runs(2_000) },
  );
});

test('events without a model are forwarded as the same bytes', () => {
  const stream = openOf(relayMessages)();
  stream.push(Buffer.from(wholeMessage.slice(0, wholeMessage.indexOf('event: ping'))));
  const bytes = Buffer.from(textDelta('a') + messageDelta('end_turn') + messageStop);
  expect(stream.push(bytes)).toBe(bytes);
});

test('an unreadable event is left out, and the events around it name the requested model', () => {
  const text = `${frame(delta({ content: 'a' }))}data: {"model":"served" oh}\n\n${frame(delta({}, 'stop'))}`;
  const { sent } = read(openOf(relayChat)(), [Buffer.from(text)]);
  expect(sent).not.toContain('oh}');
  expect(sent.split(named).length).toBe(3);
});

test('a response that breaks off repeats its head with the requested model', () => {
  const stream = openOf(relayResponses)();
  stream.push(Buffer.from(responseBeginning));
  const error = { message: 'gone: Grüße 😀', type: 'server_error', code: 'upstream_error', param: null };
  const reported = stream.errorFrame?.(error) ?? '';
  expect(reported).toContain('response.failed');
  expect(reported).toContain(named);
  expect(reported).not.toContain(served);
  expect(reported).toContain('gone: Grüße 😀');
});

test.each([
  '{"model":"served"}',
  ` {"x":{"model":"served "},${decoys}, "model" : "served" ,"y":[]}\n`,
  '{"id":1}',
])('a plain answer names the requested model, and keeps every other byte: %s', (text) => {
  expect(String(answerAsRequested(Buffer.from(text), asked))).toBe(
    text.replace(/"model"( ?: ?)"served"/, `"model"$1${JSON.stringify(asked)}`),
  );
});
