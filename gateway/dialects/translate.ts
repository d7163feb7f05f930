// One upstream call in another dialect than the client's: the request in the upstream's form, and
// its answer on the way back to the client, through our own form.

import type { Usage } from '../../core/contract/ledger-record.ts';
import { cutAnswer, cutStream } from './answer/cut-stops.ts';
import { outputOf } from './answer/estimate-tokens.ts';
import { flawOfChoices } from './answer/flaw.ts';
import { gatherChoice } from './answer/gather-choice.ts';
import { heapBytesOf } from './answer/kept.ts';
import type { Conversation, ModelAnswer } from './conversation.ts';
import type {
  AnswerFacts,
  AnswerFault,
  AnswerStream,
  PartsEncoder,
  StreamDecoder,
  UpstreamCall,
  UpstreamDialect,
  UpstreamTarget,
} from './dialect.ts';
import { normalise } from './normalise.ts';
import type { StreamPart } from './stream-part.ts';

type TranslatedReading =
  | {
      readonly ok: true;
      readonly value: { readonly type: 'translated'; readonly answer: ModelAnswer };
      readonly usage: Usage | undefined;
      readonly outputEstimate: number;
      readonly uncounted?: string;
      readonly servedModel: string | undefined;
    }
  | { readonly ok: false; readonly fault: AnswerFault };

export function openCall(
  upstream: UpstreamDialect,
  conversation: Conversation,
  target: UpstreamTarget,
): UpstreamCall {
  const { asUpstream } = upstream;
  return asUpstream.open(normalise(conversation, target, asUpstream), target);
}

/** A whole plain answer; the caller encodes it when all of its answers are there. */
export function translateAnswer(call: UpstreamCall, body: Buffer): TranslatedReading {
  const decoded = call.decodeAnswer(body);
  if (!decoded.ok) return decoded;
  const answer = call.stopsLeft ? cutAnswer(decoded.answer, call.stopsLeft) : decoded.answer;
  return {
    ok: true,
    value: { type: 'translated', answer },
    usage: answer.usage,
    ...outputOf(answer.usage, () => answer.choices.flatMap(({ parts }) => parts.map(textOf)).join('')),
    servedModel: answer.model,
  };
}

function textOf(part: ModelAnswer['choices'][number]['parts'][number]): string {
  if (part.type === 'tool-call') return part.name + part.input;
  return 'text' in part ? part.text : '';
}

/**
 * A stream: each step decodes what came and encodes what it means.
 *
 * @param keptLengthMax Parts are remembered, so that the whole answer can be judged, unless it is longer than this
 * many characters, counted as they are for a client; absent: none are.
 */
export function translateStream(
  call: UpstreamCall,
  encoder: PartsEncoder,
  keptLengthMax?: number,
): AnswerStream {
  const decoder = call.streamDecoder();
  const cut = call.stopsLeft ? cutStream(decoder, call.stopsLeft) : decoder;
  return new TranslatedStream(
    cut,
    encoder,
    keptLengthMax === undefined ? undefined : new KeptParts(keptLengthMax),
  );
}

/** The parts of one answer, by choice. */
class KeptParts {
  private readonly choices = new Map<number, StreamPart[]>();
  private readonly lengthMax: number;
  private length = 0;

  constructor(lengthMax: number) {
    this.lengthMax = lengthMax;
  }

  add(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (!('choice' in part) || this.length > this.lengthMax) continue;
      this.length += lengthOf(part);
      const known = this.choices.get(part.choice);
      if (known) known.push(part);
      else this.choices.set(part.choice, [part]);
    }
    if (this.length > this.lengthMax) this.choices.clear();
  }

  flaw(): string | undefined {
    if (this.length > this.lengthMax) return undefined;
    return flawOfChoices([...this.choices].map(([index, parts]) => gatherChoice(parts, index)));
  }
}

/** However short its text, a client gets a hundred characters or more for a part, and what is longer than it may be is not held for it. */
function lengthOf(part: StreamPart): number {
  if (part.type === 'part-end') return 100 + heapBytesOf(part.opaque);
  return part.type === 'part-delta' ? 100 + part.text.length + heapBytesOf(part.logprobs) : 100;
}

class TranslatedStream implements AnswerStream {
  readonly errorFrame: AnswerStream['errorFrame'];
  private readonly decoder: StreamDecoder;
  private readonly encoder: PartsEncoder;
  private readonly kept: KeptParts | undefined;
  /** Kept by the encoder, as counted so far. */
  private encoderBytes = 0;

  constructor(decoder: StreamDecoder, encoder: PartsEncoder, kept: KeptParts | undefined) {
    this.decoder = decoder;
    this.encoder = encoder;
    this.kept = kept;
    this.errorFrame = encoder.errorFrame;
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

  flaw(): string | undefined {
    return this.kept?.flaw();
  }

  private encoded(parts: readonly StreamPart[]): Buffer | undefined {
    this.kept?.add(parts);
    const text = parts.length === 0 ? '' : this.encoder.encode(parts);
    const { keptBytes = 0 } = this.encoder;
    this.facts.keptBytes += keptBytes - this.encoderBytes;
    this.encoderBytes = keptBytes;
    return text === '' ? undefined : Buffer.from(text);
  }
}
