// A response of an upstream in our own form.

import { asRecord, type JsonRecord, tryParseJson } from '../../json/record.ts';
import { freshFacts } from '../answer-facts.ts';
import type { DecodedAnswer } from '../dialect.ts';
import { gatherChoice } from '../gather-choice.ts';
import { readErrorMember } from '../openai-error.ts';
import { PartWriter } from '../part-writer.ts';
import type { StreamPart } from '../stream-part.ts';
import type { ToolNames } from '../tool-names.ts';
import { decodeResponsesUsage } from './convert-usage.ts';
import { readFailure } from './error-body.ts';
import { ItemEvents } from './item-events.ts';
import { decodeResponsesFinish } from './map-finish-reason.ts';

/** What reading an answer needs to know of the call. */
export interface AnswerContext {
  readonly names: ToolNames;
  /** See `UpstreamTarget`. */
  readonly origin: string;
}

export function decodeResponsesAnswer(body: Buffer, context: AnswerContext): DecodedAnswer {
  const response = asRecord(tryParseJson(body.toString('utf8')));
  if (!response) return malformed('the answer is not a JSON object');
  const { status } = response;
  if (status === 'failed' || status === 'cancelled') {
    return { ok: false, fault: { kind: 'error-event', error: readFailure(response) } };
  }
  const error = readErrorMember(response);
  if (error) return { ok: false, fault: { kind: 'error-event', error } };
  if (!Array.isArray(response.output)) return malformed("the answer has no 'output'");
  if (status === 'queued' || status === 'in_progress') return malformed(`the answer is still '${status}'`);
  const parts = readOutput(response, context);
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

export interface ResponseHead {
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

function readOutput(response: JsonRecord, { names, origin }: AnswerContext): readonly StreamPart[] {
  const writer = new PartWriter(freshFacts(), names);
  const items = new ItemEvents(writer, origin);
  const output: readonly unknown[] = Array.isArray(response.output) ? response.output : [];
  for (const [index, item] of output.entries()) {
    items.read('response.output_item.done', { output_index: index, item });
  }
  writer.end(decodeResponsesFinish(response));
  return writer.take();
}

function malformed(detail: string): DecodedAnswer {
  return { ok: false, fault: { kind: 'malformed', detail } };
}
