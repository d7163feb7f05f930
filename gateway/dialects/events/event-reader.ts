// Which events does a translated stream hold? Events are handed over one by one while the answer needs
// more; nothing after its end or a fault is read.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';
import { isOver } from '../answer/answer-facts.ts';
import { failTooLarge } from '../answer/malformed.ts';
import { findBomb } from '../answer/read-answer.ts';
import type { AnswerFacts } from '../dialect.ts';
import { doneMark } from './event-text.ts';
import { endsWhole, eventBytesMax, readSse, type SseEvent } from './sse-events.ts';

export class EventReader {
  private readonly facts: AnswerFacts;
  private readonly onEvent: (event: SseEvent) => void;
  private readonly lengthMax: number;
  private readonly reader: ReturnType<typeof readSse>;
  private endsLine = true;
  private unendedBytes = 0;

  /** @param lengthMax A longer event is a fault. */
  constructor(facts: AnswerFacts, onEvent: (event: SseEvent) => void, lengthMax = eventBytesMax) {
    this.facts = facts;
    this.onEvent = onEvent;
    this.lengthMax = lengthMax;
    this.reader = readSse(lengthMax);
  }

  push(bytes: Buffer): void {
    const events = this.reader.push(bytes);
    this.handOver(events);
    if (bytes.length > 0) this.endsLine = lineEnds.has(bytes.at(-1));
    const isKept = events.length === 0 && !endsWhole(bytes) && !isOver(this.facts);
    this.unendedBytes = isKept ? this.unendedBytes + bytes.length : 0;
    this.facts.pendingBytes = Math.min(this.unendedBytes, this.lengthMax);
    // Lines without a field are not kept, but a stream of such lines must not run for ever.
    if (this.unendedBytes > this.lengthMax + frameBytesMax) this.failTooLong();
  }

  /** The upstream's body ended. In a cut stream the last event may be half, and is nothing then. */
  end(): void {
    this.facts.pendingBytes = 0;
    const given = this.reader.end();
    const events = given.filter((event) => denseFlaw(event) !== undefined || isWhole(event));
    const isHalf = events.length < given.length || (given.length === 0 && !this.endsLine);
    if (isHalf) this.facts.isTorn = true;
    this.handOver(events);
  }

  private handOver(events: readonly SseEvent[]): void {
    for (const event of events) {
      if (isOver(this.facts)) return;
      const flaw = denseFlaw(event);
      if (flaw === undefined) this.onEvent(event);
      else this.facts.fault = flaw.fault;
    }
    if (this.reader.isOverfull && !isOver(this.facts)) this.failTooLong();
  }

  private failTooLong(): void {
    failTooLarge(this.facts, `an event of it is longer than ${this.lengthMax} bytes`);
  }
}

/** Room for all of an event but its data: field names, comments, and the beginning of the next event. */
const frameBytesMax = 128 * 1024;

/** Larger events are as bounded in what they hold as plain answers are: parsing them takes the time of all. */
function denseFlaw({ data }: SseEvent): ReturnType<typeof findBomb> {
  return data.length > eventBytesMax ? findBomb(data) : undefined;
}

const lineEnds: ReadonlySet<number | undefined> = new Set([0x0a, 0x0d]);

function isWhole({ data }: SseEvent): boolean {
  return data.trim() === doneMark || asRecord(parseJson(data)) !== undefined;
}
