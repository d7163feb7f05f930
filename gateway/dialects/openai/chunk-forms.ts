// Which bytes do the content events of a stream have in common, so that one that differs in its text alone needs no
// parse? Learned from events that were parsed and found sound; nearly all events of a stream are of one form.

interface ChunkForm {
  /** Up to the text, its opening quote included. */
  readonly before: string;
  /** From its closing quote on: up to the blank line, or to the text that OpenAI pads events with. */
  readonly after: string;
  /** From the closing quote of the padding on; empty where there is none. */
  readonly last: string;
  /** The id of the answer is in `before`: where that is the same, all is that clients go by. */
  readonly isNamedBefore: boolean;
}

/** Text, reasoning, arguments of calls; and choices that take turns. */
const formsMax = 8;

export class ChunkForms {
  /** An event of one of the forms may say something of usage. */
  hasUsage = false;
  /** The latest first. */
  private forms: ChunkForm[] = [];
  private takesCalls = true;

  /** @param event Of one line, without its blank line; parsed, and found to need no repair. */
  learn(event: string): void {
    const start = textStart.exec(event)?.[0].length;
    const end = start === undefined ? -1 : stringEnd(event, start);
    if (start === undefined || end === -1) return;
    const [before, rest] = [event.slice(0, start), `${event.slice(end)}\n\n`];
    if (!this.takesCalls && isOfCall(before)) return;
    const padding = rest.indexOf(paddingStart);
    const after = padding === -1 ? rest : rest.slice(0, padding + paddingStart.length);
    const last = padding === -1 ? '' : rest.slice(stringEnd(rest, after.length));
    this.forms.unshift({ before, after, last, isNamedBefore: before.includes('"id"') });
    this.hasUsage ||= before.includes('"usage"') || after.includes('"usage"');
    if (this.forms.length > formsMax) this.forms.pop();
  }

  /** From here on each piece of a call is read. */
  excludeCalls(): void {
    this.takesCalls = false;
    this.forms = this.forms.filter(({ before }) => !isOfCall(before));
  }

  /** One past the event that begins there, if it differs from one of the forms in its text alone; else -1. */
  endOf(text: string, from: number): number {
    for (const { before, after, last } of this.forms) {
      if (!hasAt(text, before, from)) continue;
      const start = from + before.length;
      const quote = stringEnd(text, start);
      if (quote <= start || !text.startsWith(after, quote)) continue;
      const end = quote + after.length;
      if (last === '') return end;
      const closing = stringEnd(text, end);
      if (closing !== -1 && text.startsWith(last, closing)) return closing + last.length;
    }
    return -1;
  }

  /** Whether the event that begins there says of itself what one of the forms does, and has a text in the same place. */
  beginsAlike(text: string, from: number): boolean {
    for (const { before, isNamedBefore } of this.forms) {
      if (isNamedBefore && hasAt(text, before, from)) return text.charCodeAt(from + before.length) !== 0x22;
    }
    return false;
  }
}

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

/** Of the closing quote; -1 where there is none. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++;
  return backslashes % 2 === 1;
}
