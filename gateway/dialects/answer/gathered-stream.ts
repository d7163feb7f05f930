// Which plain answer does a streamed one stand for? The relay says which of the events count and
// whether the stream is whole; what they make up is put together on the way by the dialect's gatherer.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { AnswerFacts, AnswerGatherer, AnswerStream, SameDialect } from '../dialect.ts';
import { readSse, responseEventBytesMax } from '../events/sse-events.ts';

/** A stream that is forwarded unchanged and also kept as an answer. */
export class GatheredStream implements AnswerStream {
  readonly facts: AnswerFacts;
  readonly errorFrame: AnswerStream['errorFrame'];
  private readonly stream: AnswerStream;
  private readonly dialect: Pick<SameDialect, 'flawOf'>;
  private readonly bytesMax: number;
  private readonly events = readSse(responseEventBytesMax);
  private gatherer: AnswerGatherer | undefined;
  private bytes = 0;
  private isUnread = false;

  /** @param bytesMax Of a longer stream nothing is remembered. */
  constructor(stream: AnswerStream, dialect: Pick<SameDialect, 'openGatherer' | 'flawOf'>, bytesMax: number) {
    this.stream = stream;
    this.facts = stream.facts;
    this.errorFrame = stream.errorFrame;
    this.dialect = dialect;
    this.bytesMax = bytesMax;
    this.gatherer = dialect.openGatherer();
  }

  push(chunk: Buffer): Buffer | undefined {
    return this.remembered(this.stream.push(chunk));
  }

  end(): Buffer | undefined {
    return this.remembered(this.stream.end());
  }

  /** It was too long to be remembered. */
  get isTooLong(): boolean {
    return this.bytes > this.bytesMax;
  }

  /** The answer so far; undefined if it is no answer, lacks an event, or is too long to be remembered. */
  answer(): JsonRecord | undefined {
    return this.isUnread ? undefined : this.gatherer?.answer();
  }

  flaw(): string | undefined {
    if (!this.gatherer) return undefined;
    const answer = this.answer();
    return answer ? (this.stream.flaw?.() ?? this.dialect.flawOf(answer)) : this.unanswered;
  }

  /** Why there is no answer. */
  get unanswered(): string {
    return this.isUnread
      ? 'an event of the stream cannot be read'
      : 'the events of the stream form no complete answer';
  }

  private remembered(bytes: Buffer | undefined): Buffer | undefined {
    if (!bytes || !this.gatherer) return bytes;
    this.bytes += bytes.length;
    if (this.isTooLong) {
      this.gatherer = undefined;
      return bytes;
    }
    for (const { data } of this.events.push(bytes)) {
      const event = asRecord(parseJson(data));
      if (event) this.gatherer.add(event);
      // The relay inspects the end of most events only, and clients without assured delivery get events as they came.
      // An unreadable event here is therefore no sign of an unhealthy upstream, so the facts do not report it.
      else this.isUnread = true;
    }
    return bytes;
  }
}
