// If a route says so, how does an answer name the requested model instead of the model that its upstream served? Every other byte of a
// passed-through answer stays.

import type { Path } from '../json/read-parts.ts';
import { asRecord } from '../json/record.ts';
import { withReplaced } from '../json/replace-values.ts';
import type { AnswerStream, PartsEncoder, SameDialect, Translation } from './dialect.ts';
import { parseLatin1 } from './events/event-text.ts';

/** Encoders would use the requested model if an answer names none, so they do not get it. */
export function translateAsRequested(translation: Translation): Translation {
  return {
    ...translation,
    encodeAnswer: (answers, head) =>
      translation.encodeAnswer(
        answers.map((answer) => ({ ...answer, model: '' })),
        head,
      ),
    streamEncoder(head) {
      const encoder = translation.streamEncoder(head);
      return { open: (call) => withoutModel(encoder.open(call)), close: () => encoder.close() };
    },
  };
}

function withoutModel(encoder: PartsEncoder): PartsEncoder {
  return {
    encode: (parts) =>
      encoder.encode(parts.map((part) => (part.type === 'answer-start' ? { ...part, model: '' } : part))),
    get keptBytes() {
      return encoder.keptBytes ?? 0;
    },
    errorFrame: encoder.errorFrame,
  };
}

/** @param stream Gives whole events, the data of each on one line. */
export function streamAsRequested(
  stream: AnswerStream,
  { headMember }: Pick<SameDialect, 'headMember'>,
  model: string,
): AnswerStream {
  const name = (bytes: Buffer | undefined): Buffer | undefined =>
    bytes && nameInEvents(bytes, headMember, model);
  const { flaw, errorFrame } = stream;
  return {
    facts: stream.facts,
    push: (chunk) => name(stream.push(chunk)),
    end: () => name(stream.end()),
    flaw: flaw && (() => flaw.call(stream)),
    // It may repeat the head of the answer.
    errorFrame: errorFrame && ((error) => String(name(Buffer.from(errorFrame.call(stream, error))))),
  };
}

/** @param body A JSON object. */
export function answerAsRequested(body: Buffer, model: string): Buffer {
  const text = body.toString('latin1');
  return Buffer.from(nameAt(text, text.indexOf('{'), ['model'], model), 'latin1');
}

/** What every event that names a model holds: inside of texts quotes are escaped. */
const mark = '"model"';

function nameInEvents(bytes: Buffer, headMember: string | undefined, model: string): Buffer {
  const text = bytes.toString('latin1');
  if (!text.includes(mark)) return bytes;
  const events = text.split('\n\n').map((event) => nameInEvent(event, headMember, model));
  return Buffer.from(events.join('\n\n'), 'latin1');
}

function nameInEvent(event: string, headMember: string | undefined, model: string): string {
  if (!event.includes(mark)) return event;
  // No name of an event holds a brace.
  const at = event.indexOf('{');
  const value = asRecord(parseLatin1(event.slice(at)));
  const head = headMember === undefined ? value : asRecord(value?.[headMember]);
  if (!head) return event;
  return nameAt(event, at, headMember === undefined ? ['model'] : [headMember, 'model'], model);
}

/** An answer without a model is forwarded without one. */
function nameAt(text: string, at: number, path: Path, model: string): string {
  const name = Buffer.from(JSON.stringify(model)).toString('latin1');
  return withReplaced(text, [{ path, text: name }], at);
}
