// Does an answer have the shape that is published for its route? Errors, plain answers and every event of a stream.

import { z } from 'zod';
import { shapes as simulatorShapes } from '../simulator/shapes.ts';
import { chatChunkSchema, chatCompletionSchema, chunkOrderFaults } from '../support/openapi/chat-schema.ts';
import { completionChunkSchema, completionSchema } from '../support/openapi/completions-schema.ts';
import { response, responseEvent } from '../support/openapi/responses-schema.ts';
import { readResponseEvents } from '../support/openapi/responses-sequence.ts';
import { parseEvents } from './sse.ts';

export interface SeenAnswer {
  /** Such as `/v1/chat/completions`. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string;
  /** As far as the client read it. */
  readonly text: string;
  /** It came from an upstream of the same dialect: its bytes are the provider's own. */
  readonly isNative: boolean;
}

/** What is wrong with an answer, in words; nothing where all is well, or where the route has no shape of OpenAI's. */
export function checkShape({ path, status, contentType, text, isNative }: SeenAnswer): readonly string[] {
  const shape = Object.hasOwn(shapes, path) ? shapes[path] : undefined;
  if (shape === undefined) return [];
  if (status >= 400) return faultsOf(errorBody, JSON.parse(text));
  const isStream = contentType.startsWith('text/event-stream');
  // What a provider adds of its own passes through: it has the provider's own shape.
  if (isNative) {
    const { answer, event } = simulatorShapes[shape.simulated];
    if (!isStream) return faultsOf(answer, JSON.parse(text));
    return documentsOf(text).flatMap((document) => faultsOf(z.union([event, brokenOff]), document));
  }
  return isStream ? shape.streamFaults(text) : faultsOf(shape.answer, JSON.parse(text));
}

interface Shape {
  readonly simulated: 'chat' | 'completions' | 'responses';
  readonly answer: z.ZodType;
  readonly streamFaults: (text: string) => readonly string[];
}

const errorBody = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    code: z.string().nullable(),
    param: z.string().nullable(),
  }),
});

/** Of the gateway's own making, in the middle of a provider's stream. */
const brokenOff = z.union([
  errorBody,
  z.looseObject({ type: z.enum(['error', 'response.failed']), sequence_number: z.int() }),
]);

const chatEvent = z.union([chatChunkSchema, errorBody]);
const completionEvent = z.union([completionChunkSchema, errorBody]);

const shapes: Readonly<Record<string, Shape>> = {
  '/v1/chat/completions': {
    simulated: 'chat',
    answer: chatCompletionSchema,
    streamFaults: (text) => [
      ...documentsOf(text).flatMap((event) => faultsOf(chatEvent, event)),
      ...(isWhole(text) ? chunkOrderFaults(z.array(chatChunkSchema).parse(documentsOf(text))) : []),
    ],
  },
  '/v1/completions': {
    simulated: 'completions',
    answer: completionSchema,
    streamFaults: (text) => documentsOf(text).flatMap((event) => faultsOf(completionEvent, event)),
  },
  '/v1/responses': { simulated: 'responses', answer: response, streamFaults: responseFaults },
};

/** Together too, where the client read them all. */
function responseFaults(text: string): readonly string[] {
  const single = documentsOf(text).flatMap((event) => faultsOf(responseEvent, event));
  if (single.length > 0 || !/^event: response\.(completed|incomplete|failed)$/m.test(text)) return single;
  try {
    readResponseEvents(text);
    return [];
  } catch (error) {
    return [String(error)];
  }
}

const isWhole = (text: string): boolean => text.endsWith('data: [DONE]\n\n');

function documentsOf(text: string): unknown[] {
  return parseEvents(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data)]));
}

function faultsOf(schema: z.ZodType, value: unknown): readonly string[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return [`${z.prettifyError(parsed.error)} in ${JSON.stringify(value).slice(0, 800)}`];
}
