// What changes in an OpenAI-shaped request and plain answer that otherwise pass untouched?

import { asRecord, isRecord, type JsonRecord, tryParseJson } from '../json/record.ts';
import { type Edit, type RequestBody, setMember } from '../json/request-body.ts';
import type { AnswerDocument, RequestFacts, UpstreamTarget } from './dialect.ts';
import { readErrorMember } from './openai-error.ts';
import { readOpenAiUsage } from './openai-usage.ts';

/** A member and its JSON value. */
export type DefaultMember = readonly [name: string, value: string];

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
  const edits: Edit[] = [setMember(body, 'model', JSON.stringify(target.upstreamModel)), ...further];
  if (facts.isStream && !facts.wantsUsage) edits.push(askForUsage(body));
  const missing: DefaultMember[] = Object.entries(target.parameters).map(([name, value]) => [
    name,
    JSON.stringify(value),
  ]);
  for (const member of defaults) if (!(member[0] in target.parameters)) missing.push(member);
  for (const [name, value] of missing) {
    const other = sameLimit.get(name);
    if (isAbsent(body, name) && (other === undefined || isAbsent(body, other)))
      edits.push(setMember(body, name, value));
  }
  return body.edited(edits);
}

/** Two names of one limit: upstreams refuse a request with both. */
const sameLimit: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_completion_tokens'],
  ['max_completion_tokens', 'max_tokens'],
]);

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

/** About four characters of English a token: OpenAI's own rule of thumb. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function askForUsage(body: RequestBody): Edit {
  const member = body.member('stream_options');
  const given = member ? asRecord(body.read(member)) : undefined;
  return setMember(body, 'stream_options', JSON.stringify({ ...given, include_usage: true }));
}

function isAbsent(body: RequestBody, name: string): boolean {
  const member = body.member(name);
  return !member || (member.valueEnd - member.valueStart === 4 && body.read(member) === null);
}
