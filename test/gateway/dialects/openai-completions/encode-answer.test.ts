// Does a completion have the shape of the specification, whatever the answer came from?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import { openAiCompletions } from '../../../../gateway/dialects/openai-completions/index.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { completionChunkSchema, completionSchema } from '../../../support/openapi/completions-schema.ts';
import { runs } from '../../../support/runs.ts';
import { randomParts } from '../support/random-parts.ts';
import { bodyOf } from '../support/upstream-call.ts';

const head = { id: 'x1', createdAt: 1_800_000_000, model: 'm', inputEstimate: 7 };

function translate(request: Record<string, unknown>) {
  const body = bodyOf({ model: 'm', prompt: 'p', n: 2, ...request });
  return openAiCompletions.translate(body, { upstreams: new Set(), header: () => undefined });
}

function ofChoice(parts: readonly StreamPart[], choice: number): StreamPart[] {
  return parts.filter((part) => 'choice' in part && part.choice === choice);
}

test('any parts make chunks of the published shape, with the content of the plain answer', () => {
  fc.assert(
    fc.property(randomParts(2), fc.boolean(), fc.boolean(), (parts, echo, wantsUsage) => {
      const options = { echo, stream: true, stream_options: { include_usage: wantsUsage } };
      const translation = translate(options);
      const encoder = translation.streamEncoder(head);
      const sent = encoder.open(0).encode(parts) + encoder.close();
      const chunks = sent
        .split('\n\n')
        .filter((event) => event !== '')
        .map((event) => completionChunkSchema.parse(JSON.parse(event.slice('data: '.length))));
      expect(chunks.every((chunk) => 'usage' in chunk === wantsUsage)).toBe(true);

      const ended = parts.flatMap((part) => (part.type === 'choice-end' ? [part.choice] : []));
      const choices = ended.map((choice) => gatherChoice(ofChoice(parts, choice), choice));
      const bytes = translation.encodeAnswer([{ id: 'up', model: 'served', createdAt: 1, choices }], head);
      const plain = completionSchema.parse(JSON.parse(bytes.toString('utf8')));
      for (const { index, text, finish_reason } of plain.choices) {
        const pieces = chunks.flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index));
        expect(pieces.map((choice) => choice.text).join('')).toBe(text);
        expect(pieces.flatMap((choice) => choice.finish_reason ?? [])).toEqual([finish_reason]);
      }
    }),
    { seed: 13, numRuns: runs(1000) },
  );
});
