// Which stream parts can a decoder give? Random ones, made by the writer that all decoders use, so that they
// keep its promises: nothing overlaps, no delta is empty, a call without arguments is `{}`.

import fc from 'fast-check';
import { freshFacts } from '../../../../gateway/dialects/answer/answer-facts.ts';
import { PartWriter } from '../../../../gateway/dialects/answer/part-writer.ts';
import type { FinishReason } from '../../../../gateway/dialects/conversation.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { nameTools } from '../../../../gateway/dialects/tools/tool-names.ts';
import { makeConversation } from './upstream-call.ts';

const finishReasons: readonly FinishReason[] = [
  ...(['stop', 'stop-sequence', 'length', 'context-full', 'tool-calls', 'content-filter', 'pause'] as const),
];

const step = fc.oneof(
  fc.record({
    kind: fc.constantFrom('text', 'refusal', 'thinking'),
    text: fc.string({ unit: 'grapheme', maxLength: 6 }),
  }),
  fc.record({ kind: fc.constant('close'), isMarked: fc.boolean() }),
  fc.record({ kind: fc.constant('open') }),
  fc.record({ kind: fc.constant('call'), key: fc.nat({ max: 3 }), id: fc.constantFrom('', 'a', 'b') }),
  fc.record({
    kind: fc.constant('input'),
    key: fc.nat({ max: 3 }),
    text: fc.constantFrom('{', '}', '{"a":1}', 'x'),
  }),
);

const choice = fc.record({
  steps: fc.array(step, { maxLength: 12 }),
  finish: fc.constantFrom(...finishReasons),
  explanation: fc.constantFrom(null, 'against the rules'),
});

/** The parts of a whole answer with so many choices, and usage where there is any. */
export function randomParts(choicesMax: number): fc.Arbitrary<readonly StreamPart[]> {
  return fc
    .record({ choices: fc.array(choice, { minLength: 1, maxLength: choicesMax }), hasUsage: fc.boolean() })
    .map(({ choices, hasUsage }) => [
      { type: 'answer-start', id: 'up', model: 'served', createdAt: 1 },
      ...choices.flatMap((entry, index) => partsOf(entry, index)),
      ...(hasUsage
        ? [
            {
              type: 'usage',
              usage: { input: 7, cachedInput: 2, cacheWrite: 1, output: 3, reasoning: 1 },
            } as const,
          ]
        : []),
    ]);
}

type Values<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

function partsOf(
  { steps, finish, explanation }: Values<typeof choice>,
  index: number,
): readonly StreamPart[] {
  const tools = [{ kind: 'custom', name: 'free' }] as const;
  const names = nameTools(makeConversation({ tools }), {
    lengthMax: 64,
    hasNamespaces: true,
    hasCustom: true,
  });
  const writer = new PartWriter(freshFacts(), names, index);
  for (const entry of steps) {
    if ('isMarked' in entry) {
      writer.close(entry.isMarked ? { origin: 'here', state: { kind: 'signature', value: 's' } } : undefined);
    } else if ('id' in entry) {
      writer.call(entry.key, { id: entry.id, name: entry.key === 3 ? 'free' : 'f' });
    } else if ('key' in entry) writer.callInput(entry.key, entry.text);
    else if ('text' in entry) writer.text(textKind(entry.kind), entry.text);
    else writer.open('thinking');
  }
  writer.end(finish, {
    refusal: finish === 'content-filter' ? { category: null, explanation } : undefined,
  });
  return writer.take();
}

function textKind(kind: string): 'text' | 'refusal' | 'thinking' {
  return kind === 'refusal' || kind === 'thinking' ? kind : 'text';
}
