// What would a healthy upstream answer to this request? A few words in its own dialect, written by the dialect itself.

import type { AnswerHead, Dialect, UpstreamDialect } from '../dialects/dialect.ts';
import { RequestBody } from '../json/request-body.ts';

export interface SimulatedAnswer {
  readonly contentType: string;
  /** In the order of the wire; without the last one the answer is cut short. Of a stream, each but the last holds content. */
  readonly pieces: readonly Buffer[];
}

const words = ['All ', 'is ', 'well.'];
const usage = { input: 1, cachedInput: 0, cacheWrite: 0, output: words.length, reasoning: 0 };

/**
 * @param sent The body of the request as the upstream gets it.
 * @throws {GatewayError} if the dialect does not take that body.
 */
export function simulateAnswer(dialect: Dialect, sent: readonly Buffer[]): SimulatedAnswer {
  const body = new RequestBody(sent);
  body.parse();
  const { model, isStream } = dialect.readRequest(body);
  const { conversations, encodeAnswer, streamEncoder } = dialect.translate(body, {
    upstreams: new Set([dialect.name]),
    header: () => undefined,
  });
  const head: AnswerHead = { id: 'drill', createdAt: 0, model, inputEstimate: usage.input };
  if (isStream) {
    return {
      contentType: 'text/event-stream',
      pieces: streamed(streamEncoder(head), model, dialect.streamEnd),
    };
  }
  const text = words.join('');
  const parts = [{ type: 'text' as const, text }];
  const choices = [{ index: 0, parts, finish: 'stop' as const }];
  const answers = conversations.map(() => ({ id: head.id, model, createdAt: 0, choices, usage }));
  const bytes = encodeAnswer(answers, head);
  const half = bytes.length >> 1;
  return { contentType: 'application/json', pieces: [bytes.subarray(0, half), bytes.subarray(half)] };
}

/** Drills ask for streams only. */
export function simulateStream({ sampleStream = [] }: UpstreamDialect): SimulatedAnswer {
  return { contentType: 'text/event-stream', pieces: sampleStream.map((text) => Buffer.from(text)) };
}

function streamed(
  encoder: ReturnType<ReturnType<Dialect['translate']>['streamEncoder']>,
  model: string,
  streamEnd: string,
): readonly Buffer[] {
  const answer = encoder.open(0);
  const [first = '', ...others] = words;
  const at = { choice: 0, index: 0 };
  const texts = [
    answer.encode([
      { type: 'answer-start', id: 'drill', model, createdAt: 0 },
      { type: 'part-start', ...at, head: { type: 'text' } },
      { type: 'part-delta', ...at, text: first },
    ]),
    ...others.map((text) => answer.encode([{ type: 'part-delta', ...at, text }])),
    answer.encode([
      { type: 'part-end', ...at },
      { type: 'usage', usage },
      { type: 'choice-end', choice: 0, finish: 'stop' },
    ]) +
      encoder.close() +
      streamEnd,
  ];
  return texts.map((text) => Buffer.from(text));
}
