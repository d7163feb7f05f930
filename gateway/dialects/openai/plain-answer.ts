// Is this a whole answer in which nothing is missing, as nearly all are? Then its model and its counts are all that the gateway needs of
// it, and it is not parsed.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { JsonWalk, OPEN_BRACE, OPEN_BRACKET, walkedBytesMax } from '../../json/json-walk.ts';
import { asRecord } from '../../json/record.ts';
import { meansFailure } from '../answer/failure-reasons.ts';
import { hasSoundCounts, readOpenAiUsage } from './convert-usage.ts';
import { isFinishReason } from './map-finish-reason.ts';

interface PlainAnswer {
  readonly model: string;
  readonly usage: Usage;
}

/** Bits of the members that have been seen and are well. */
const [id, object, created, model, choices, usage] = [1, 2, 4, 8, 16, 32];
const wholeAnswer = id + object + created + model + choices + usage;
const [index, reason, message, text] = [1, 2, 4, 8];

/** @returns Undefined if it is anything else: it has to be parsed, to see what. */
export function readPlainAnswer(body: Buffer): PlainAnswer | undefined {
  return body.length <= walkedBytesMax ? new PlainReader(body).read() : undefined;
}

class PlainReader {
  private readonly walk: JsonWalk;
  private model = '';
  private usage: Usage | undefined;

  constructor(body: Buffer) {
    this.walk = new JsonWalk(body);
  }

  read(): PlainAnswer | undefined {
    const { walk } = this;
    let seen = 0;
    walk.space();
    if (!walk.enter(OPEN_BRACE)) return undefined;
    do {
      const name = walk.shortName()?.text;
      const member = name === undefined ? odd : this.member(name);
      // Of two with one name a parser takes the last.
      if (member === odd || (seen & member) !== 0) return undefined;
      seen |= member;
    } while (walk.hasNext());
    const isWhole = walk.leave(OPEN_BRACE) && seen === wholeAnswer;
    walk.space();
    return isWhole && walk.isAtEnd && this.usage ? { model: this.model, usage: this.usage } : undefined;
  }

  private member(name: string): number {
    const { walk } = this;
    switch (name) {
      case 'id':
        // Each answer has another one.
        return walk.isAtText && walk.value() ? id : odd;
      case 'object': {
        const word = walk.shortString()?.text;
        return word && word !== 'error' ? object : odd;
      }
      case 'model':
        this.model = walk.shortString()?.text ?? '';
        return this.model === '' ? odd : model;
      case 'created':
        return walk.isAtDigit && walk.code !== 0x30 && walk.value() ? created : odd;
      case 'choices':
        return this.choices() ? choices : odd;
      case 'usage':
        return this.counts() ? usage : odd;
      case 'error':
        return odd;
      default:
        return walk.value() ? 0 : odd;
    }
  }

  private counts(): boolean {
    const { walk } = this;
    const from = walk.at;
    if (walk.code !== OPEN_BRACE || !walk.value()) return false;
    const counts = asRecord(JSON.parse(walk.bytes.toString('utf8', from, walk.at)));
    this.usage = counts && hasSoundCounts(counts) ? readOpenAiUsage(counts) : undefined;
    // See `outputOf`: else its text is looked at.
    return this.usage !== undefined && this.usage.input > 0 && this.usage.output > 0;
  }

  private choices(): boolean {
    const { walk } = this;
    if (!walk.enter(OPEN_BRACKET)) return false;
    do if (!this.choice()) return false;
    while (walk.hasNext());
    return walk.leave(OPEN_BRACKET);
  }

  private choice(): boolean {
    const { walk } = this;
    let seen = 0;
    if (!walk.enter(OPEN_BRACE)) return false;
    do {
      const name = walk.shortName()?.text;
      const member = name === undefined ? odd : this.choiceMember(name);
      if (member === odd || (seen & member) !== 0) return false;
      seen |= member;
    } while (walk.hasNext());
    return walk.leave(OPEN_BRACE) && (seen === index + reason + message || seen === index + reason + text);
  }

  private choiceMember(name: string): number {
    const { walk } = this;
    switch (name) {
      case 'index':
        return walk.isAtDigit && walk.value() ? index : odd;
      case 'finish_reason': {
        const word = walk.shortString()?.text;
        return isFinishReason(word) && !meansFailure(word) ? reason : odd;
      }
      case 'message':
        return this.message() ? message : odd;
      case 'text':
        return walk.isAtString && walk.value() ? text : odd;
      default:
        return walk.value() ? 0 : odd;
    }
  }

  /** One that calls tools is looked at closely. */
  private message(): boolean {
    const { walk } = this;
    if (!walk.enter(OPEN_BRACE)) return false;
    do {
      const name = walk.shortName()?.text;
      if (name === undefined) return false;
      const isCall = name === 'tool_calls' || name === 'function_call';
      if ((isCall && !walk.isAtNull) || !walk.value()) return false;
    } while (walk.hasNext());
    return walk.leave(OPEN_BRACE);
  }
}

/** What is not as usual. */
const odd = -1;
