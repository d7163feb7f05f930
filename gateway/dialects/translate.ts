// An upstream's answer in one dialect to a client's in another, through our own form.

import type { Usage } from '../contract/ledger-record.ts';
import type { ModelAnswer } from './conversation.ts';
import type { AnswerFacts, AnswerFault, AnswerStream, Dialect, StreamDecoder } from './dialect.ts';
import { estimateTokens } from './openai-pass-through.ts';
import type { StreamPart } from './stream-part.ts';

type TranslatedReading =
  | {
      readonly ok: true;
      readonly value: { readonly type: 'translated'; readonly answer: ModelAnswer };
      readonly usage: Usage | undefined;
      readonly outputEstimate: number;
      readonly servedModel: string | undefined;
    }
  | { readonly ok: false; readonly fault: AnswerFault };

/** A whole plain answer; the caller encodes it when all of its answers are there. */
export function translateAnswer(upstream: Dialect, body: Buffer): TranslatedReading {
  if (!upstream.asUpstream) throw new Error(`${upstream.name} is not translated from`);
  const decoded = upstream.asUpstream.decodeAnswer(body);
  if (!decoded.ok) return decoded;
  const { answer } = decoded;
  const text = answer.choices.flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')));
  return {
    ok: true,
    value: { type: 'translated', answer },
    usage: answer.usage,
    outputEstimate: answer.usage?.output ?? estimateTokens(text.join('')),
    servedModel: answer.model,
  };
}

/** A stream: each step decodes what came and encodes what it means. */
export function translateStream(
  upstream: Dialect,
  choices: number,
  encode: (parts: readonly StreamPart[]) => string,
): AnswerStream {
  if (!upstream.asUpstream) throw new Error(`${upstream.name} is not translated from`);
  return new TranslatedStream(upstream.asUpstream.streamDecoder(choices), encode);
}

class TranslatedStream implements AnswerStream {
  private readonly decoder: StreamDecoder;
  private readonly encode: (parts: readonly StreamPart[]) => string;

  constructor(decoder: StreamDecoder, encode: (parts: readonly StreamPart[]) => string) {
    this.decoder = decoder;
    this.encode = encode;
  }

  get facts(): AnswerFacts {
    return this.decoder.facts;
  }

  push(chunk: Buffer): Buffer | undefined {
    return this.encoded(this.decoder.push(chunk));
  }

  end(): Buffer | undefined {
    return this.encoded(this.decoder.end());
  }

  private encoded(parts: readonly StreamPart[]): Buffer | undefined {
    const text = parts.length === 0 ? '' : this.encode(parts);
    return text === '' ? undefined : Buffer.from(text);
  }
}
