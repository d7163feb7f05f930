// Which bytes do the content events of a stream have in common, so that one that differs in its text alone needs no
// parse? Learned from events that were parsed and found sound; nearly all events of a stream are of one form.

import { nullUsage } from './strip-usage.ts';

interface ChunkForm {
  /** Up to the text, its opening quote included; latin1 of the bytes. */
  readonly head: string;
  readonly before: Buffer;
  /** From its closing quote on: up to the blank line, or to the text that OpenAI pads events with. */
  readonly after: Buffer;
  /** From the closing quote of the padding on; empty without padding. */
  readonly last: Buffer;
  /** The id of the answer is in `before`: where that is the same, all is that clients go by. */
  readonly isNamedBefore: boolean;
  /** Where a null usage begins in `before` and `after` together; `none` or, where it is written in another way, `odd`. */
  readonly usageAt: number;
}

const none = -1;
const odd = -2;

/** Text, reasoning, arguments of calls; and choices that take turns. */
const formsMax = 8;

export class ChunkForms {
  /** An event of one of the forms may say something of usage. */
  hasUsage = false;
  /** The latest first. */
  private forms: ChunkForm[] = [];
  private takesCalls = true;
  private hasSeenRole = false;
  /** Of the event that was found last, with the place of its text's closing quote. */
  private form: ChunkForm | undefined;
  private quoteAt = 0;

  /** @param event Of one line, without its blank line; parsed, and found to need no repair. */
  learn(event: string): void {
    // Nearly all streams name the role in their first event alone.
    if (this.forms.length === 0 && !this.hasSeenRole && event.includes('"role"')) {
      this.hasSeenRole = true;
      return;
    }
    const start = textStart.exec(event)?.[0].length;
    if (start === undefined) return;
    const bytes = Buffer.from(`${event}\n\n`, 'latin1');
    const end = closingQuote(bytes, start);
    if (end === -1) return;
    const head = event.slice(0, start);
    if (!this.takesCalls && isOfCall(head)) return;
    const padding = event.indexOf(paddingStart, end);
    const afterEnd = padding === -1 ? bytes.length : padding + paddingStart.length;
    const lastStart = padding === -1 ? bytes.length : closingQuote(bytes, afterEnd);
    const usageAt = event.includes(usageName, lastStart) ? odd : findUsage(head + event.slice(end, afterEnd));
    this.forms.unshift({
      head,
      before: bytes.subarray(0, start),
      after: bytes.subarray(end, afterEnd),
      last: bytes.subarray(lastStart),
      isNamedBefore: head.includes('"id"'),
      usageAt,
    });
    this.hasUsage ||= usageAt !== none;
    if (this.forms.length > formsMax) this.forms.pop();
  }

  /** From here on each piece of a call is read. */
  excludeCalls(): void {
    this.takesCalls = false;
    this.forms = this.forms.filter(({ head }) => !isOfCall(head));
  }

  /** One past the event that begins there, if it differs from one of the forms in its text alone; else -1. */
  endOf(bytes: Buffer, from: number): number {
    for (const form of this.forms) {
      const { before, after, last } = form;
      if (!hasBytesAt(bytes, before, from)) continue;
      const start = from + before.length;
      const quote = closingQuote(bytes, start);
      if (quote <= start || !hasBytesAt(bytes, after, quote)) continue;
      const afterEnd = quote + after.length;
      const end = last.length === 0 ? afterEnd : endOfLast(bytes, afterEnd, last);
      if (end === -1) continue;
      this.form = form;
      this.quoteAt = quote;
      return end;
    }
    return -1;
  }

  /** For callers without usage in the stream: the output for the one event in these bytes; undefined: parse it. */
  withoutUsage(bytes: Buffer): Buffer | undefined {
    const { form, quoteAt } = this;
    if (form === undefined || form.usageAt === odd) return undefined;
    if (form.usageAt === none) return bytes;
    const inAfter = form.usageAt - form.before.length;
    const at = inAfter < 0 ? form.usageAt : quoteAt + inAfter;
    const given = Buffer.allocUnsafe(bytes.length - nullUsage.length);
    bytes.copy(given, 0, 0, at);
    bytes.copy(given, at, at + nullUsage.length);
    return given;
  }

  /** Whether the event that begins there says of itself what one of the forms does, and has a text in the same place. */
  beginsAlike(text: string, from: number): boolean {
    for (const { head, isNamedBefore } of this.forms) {
      if (isNamedBefore && hasAt(text, head, from)) return text.charCodeAt(from + head.length) !== 0x22;
    }
    return false;
  }
}

/** One past `last`, which follows a text that begins there; -1 if it does not. */
function endOfLast(bytes: Buffer, from: number, last: Buffer): number {
  const closing = closingQuote(bytes, from);
  return closing !== -1 && hasBytesAt(bytes, last, closing) ? closing + last.length : -1;
}

/** @param rest An event without its text. */
function findUsage(rest: string): number {
  const at = rest.indexOf(usageName);
  if (at === -1) return none;
  return rest.startsWith(nullUsage, at - 1) && rest.lastIndexOf(usageName) === at ? at - 1 : odd;
}

const usageName = '"usage"';

function isOfCall(before: string): boolean {
  return before.includes('"tool_calls"');
}

const paddingStart = '"obfuscation":"';

/** Up to the first text of a choice that is not empty. */
const textStart =
  /^data: \{.*?"(?:content|reasoning_content|reasoning|refusal|text|arguments)"\s*:\s*"(?=[^"])/;

/** Of a long part: a slice costs a third of `startsWith`, which compares one character at a time. */
function hasAt(text: string, part: string, from: number): boolean {
  return text.slice(from, from + part.length) === part;
}

function hasBytesAt(bytes: Buffer, part: Buffer, from: number): boolean {
  const to = from + part.length;
  return to <= bytes.length && part.compare(bytes, from, to) === 0;
}

/** Of a text in JSON; -1 without one. */
function closingQuote(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(quoteByte, start);
  while (end !== -1 && isEscaped(bytes, end)) end = bytes.indexOf(quoteByte, end + 1);
  return end;
}

const quoteByte = 0x22;

function isEscaped(bytes: Buffer, at: number): boolean {
  let backslashes = 0;
  while (bytes[at - 1 - backslashes] === 0x5c) backslashes++;
  return backslashes % 2 === 1;
}
