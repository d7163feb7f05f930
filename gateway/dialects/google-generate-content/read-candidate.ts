// What does one candidate hold? Read from whole answers and from the chunks of a stream, which have the same members.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { textOfObject } from '../../json/sources.ts';
import type { PartWriter } from '../answer/part-writer.ts';
import type { AnswerFacts } from '../dialect.ts';
import { markCall } from './call-state.ts';
import { decodeFinishReason, isFailure } from './map-finish-reason.ts';

export class CandidateReader {
  private readonly writer: PartWriter;
  private readonly facts: AnswerFacts;
  private readonly origin: string;
  private calls = 0;
  private reason = '';
  private message: string | null = null;
  /** The finish reason came, and no content after it. */
  hasEnded = false;

  constructor(writer: PartWriter, facts: AnswerFacts, origin: string) {
    this.writer = writer;
    this.facts = facts;
    this.origin = origin;
  }

  read(candidate: JsonRecord): void {
    const parts = asRecord(candidate.content)?.parts;
    let logprobs = readLogprobs(candidate.logprobsResult);
    for (const part of Array.isArray(parts) ? parts.filter(isRecord) : []) {
      const isText = typeof part.text === 'string' && part.text !== '' && part.thought !== true;
      this.part(part, isText ? logprobs : undefined);
      if (isText) logprobs = undefined;
    }
    const { finishReason, finishMessage } = candidate;
    if (typeof finishReason !== 'string' || finishReason === '') return;
    this.reason = finishReason;
    this.message = typeof finishMessage === 'string' ? finishMessage : null;
    this.hasEnded = true;
  }

  /** Nothing more of it comes. */
  end(): void {
    const { reason, message } = this;
    if (isFailure(reason) && !this.facts.hasContent) {
      this.facts.fault = {
        kind: 'error-event',
        error: {
          message: message ?? `The model ended its answer with ${reason}.`,
          type: 'FINISH_REASON',
          code: reason,
          param: null,
          status: 400,
        },
      };
      return;
    }
    const ending = decodeFinishReason(reason);
    const isFiltered = ending.finish === 'content-filter';
    this.writer.end(ending.finish, {
      ...(ending.isAssumed ? { isAssumed: true } : {}),
      ...(isFiltered ? { refusal: { category: reason, explanation: message } } : {}),
    });
  }

  private part(part: JsonRecord, logprobs: readonly unknown[] | undefined): void {
    const { text, functionCall, thoughtSignature: given } = part;
    const signature = typeof given === 'string' ? given : '';
    if (isRecord(functionCall)) {
      this.call(functionCall, signature);
      return;
    }
    if (typeof text === 'string' && text !== '') {
      this.hasEnded = false;
      const kind = part.thought === true ? 'thinking' : 'text';
      this.writer.text(kind, text, logprobs);
    }
    // Code that it ran, and media that it made, have no place in the client's dialect; they are the answer's progress.
    else if (text === undefined) this.facts.steps++;
    if (signature === '') return;
    this.writer.open('thinking');
    this.writer.close({ origin: this.origin, state: { kind: 'signature', value: signature } });
  }

  /** Calls come whole; several of one name are several calls. */
  private call({ id: given, name, args }: JsonRecord, signature: string): void {
    if (typeof name !== 'string' || name === '') return;
    this.hasEnded = false;
    const id = typeof given === 'string' ? given : '';
    if (signature !== '') {
      this.writer.open('thinking');
      this.writer.close(markCall(this.origin, id, signature));
    }
    const key = this.calls++;
    this.writer.call(key, { id, name });
    this.writer.callInput(key, isRecord(args) ? textOfObject(args) : '{}');
    this.writer.endCall(key);
  }
}

/** As chat completions write them. */
function readLogprobs(value: unknown): readonly unknown[] | undefined {
  const { chosenCandidates: chosen, topCandidates: top } = asRecord(value) ?? {};
  if (!Array.isArray(chosen) || chosen.length === 0) return undefined;
  return chosen.map((entry: unknown, at) => {
    const others = Array.isArray(top) ? asRecord(top[at])?.candidates : undefined;
    return { ...readToken(entry), top_logprobs: Array.isArray(others) ? others.map(readToken) : [] };
  });
}

function readToken(value: unknown): { token: string; logprob: number; bytes: readonly number[] } {
  const { token, logProbability } = asRecord(value) ?? {};
  const text = typeof token === 'string' ? token : '';
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  };
}
