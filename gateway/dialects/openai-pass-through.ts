// What changes in an OpenAI-shaped request and plain answer that otherwise pass untouched?

import { asRecord, isRecord, type JsonRecord, tryParseJson } from '../json/record.ts';
import { type Edit, type RequestBody, setMember } from '../json/request-body.ts';
import type { AnswerDocument, RequestFacts, UpstreamTarget } from './dialect.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { readErrorMember } from './openai-error.ts';
import { readOpenAiUsage } from './openai-usage.ts';
import { type DefaultMember, targetEdits } from './target-edits.ts';

/**
 * The caller's bytes with the upstream's model name, the target's parameters and the dialect's
 * defaults where the caller gave none, and usage always asked for in streams.
 */
export function editOpenAiRequest(
  body: RequestBody,
  facts: RequestFacts,
  target: UpstreamTarget,
  defaults: readonly DefaultMember[],
  further: readonly Edit[] = [],
): Buffer[] {
  const usage = facts.isStream && !facts.wantsUsage ? [askForUsage(body)] : [];
  return body.edited([...further, ...usage, ...targetEdits(body, target, defaults)]);
}

/** A plain answer goes on as its own bytes; it is parsed to see that it is whole and what it used. */
export function relayOpenAiAnswer(body: Buffer, textOf: (choice: JsonRecord) => string): AnswerDocument {
  const answer = asRecord(tryParseJson(body.toString('utf8')));
  if (!answer) return { ok: false, fault: { kind: 'malformed', detail: 'the answer is not a JSON object' } };
  const error = readErrorMember(answer);
  if (error) return { ok: false, fault: { kind: 'error-event', error } };
  if (!Array.isArray(answer.choices) || answer.choices.length === 0) {
    return { ok: false, fault: { kind: 'malformed', detail: "the answer has no 'choices'" } };
  }
  const usage = readOpenAiUsage(answer.usage);
  return {
    ok: true,
    body,
    usage,
    outputEstimate: usage
      ? usage.output
      : estimateTokens(answer.choices.filter(isRecord).map(textOf).join('')),
    servedModel: typeof answer.model === 'string' ? answer.model : undefined,
  };
}

function askForUsage(body: RequestBody): Edit {
  const member = body.member('stream_options');
  const given = member ? asRecord(body.read(member)) : undefined;
  return setMember(body, 'stream_options', JSON.stringify({ ...given, include_usage: true }));
}
