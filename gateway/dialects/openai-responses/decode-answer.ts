// A response of an upstream in our own form.

import type { JsonRecord } from '../../json/record.ts';
import { freshFacts } from '../answer/answer-facts.ts';
import { gatherChoice } from '../answer/gather-choice.ts';
import { malformed } from '../answer/malformed.ts';
import { PartWriter } from '../answer/part-writer.ts';
import { readAnswer } from '../answer/read-answer.ts';
import type { AnswerFacts, DecodedAnswer } from '../dialect.ts';
import type { StreamPart } from '../stream-part.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { decodeResponsesUsage } from './convert-usage.ts';
import { readResponseError } from './error-body.ts';
import { ItemEvents } from './item-events.ts';
import { decodeResponsesFinish, isInProgress } from './map-finish-reason.ts';

/** What reading an answer needs to know of the call. */
export interface AnswerContext {
  readonly names: ToolNames;
  /** See `UpstreamTarget`. */
  readonly origin: string;
}

export function decodeResponsesAnswer(body: Buffer, context: AnswerContext): DecodedAnswer {
  const read = readAnswer(body, readResponseError);
  if (!read.ok) return read;
  const { answer: response } = read;
  const { status } = response;
  if (!Array.isArray(response.output)) return malformed("the answer has no 'output'");
  if (status === undefined && response.output.length === 0) return malformed(neither);
  if (isInProgress(status)) return malformed(`the answer is still '${status}'`);
  const facts = freshFacts();
  const parts = readOutput(facts, response, context);
  if (facts.fault) return { ok: false, fault: facts.fault };
  const usage = decodeResponsesUsage(response.usage);
  return {
    ok: true,
    answer: {
      ...headOf(response),
      choices: [gatherChoice(parts, 0)],
      ...(usage ? { usage } : {}),
      ...(typeof response.service_tier === 'string' ? { serviceTier: response.service_tier } : {}),
    },
  };
}

/** Nothing of it says that it is an answer. */
export const neither = 'the response has neither a status nor any output';

interface ResponseHead {
  readonly id: string;
  readonly model: string;
  readonly createdAt: number;
}

export function headOf({ id, model, created_at: createdAt }: JsonRecord): ResponseHead {
  return {
    id: typeof id === 'string' ? id : '',
    model: typeof model === 'string' ? model : '',
    createdAt: typeof createdAt === 'number' ? createdAt : 0,
  };
}

function readOutput(
  facts: AnswerFacts,
  response: JsonRecord,
  { names, origin }: AnswerContext,
): readonly StreamPart[] {
  const writer = new PartWriter(facts, names);
  const items = new ItemEvents(writer, origin);
  const output: readonly unknown[] = Array.isArray(response.output) ? response.output : [];
  for (const [index, item] of output.entries()) {
    items.read('response.output_item.done', { output_index: index, item });
  }
  writer.end(decodeResponsesFinish(response));
  return writer.take();
}
