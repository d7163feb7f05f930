// What changes in an OpenAI-shaped request and plain answer that otherwise pass untouched?

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { type Edit, type RequestBody, setMember } from '../../json/request-body.ts';
import type { Member } from '../../json/scan-members.ts';
import { outputOf } from '../answer/estimate-tokens.ts';
import type { AnswerDocument, RequestFacts, UpstreamTarget } from '../dialect.ts';
import { type DefaultMember, targetEdits } from '../request/target-edits.ts';
import { readOpenAiUsage } from './convert-usage.ts';
import { readPlainAnswer } from './plain-answer.ts';
import { readChoices } from './read-choices.ts';
import { lacksNothing, mapChoices, type OpenAiRepair } from './repair.ts';

/** What a dialect itself changes. */
interface OwnEdits {
  readonly defaults?: readonly DefaultMember[];
  readonly unsent?: readonly Member[];
  readonly further?: readonly Edit[];
}

/**
 * The caller's bytes with the upstream's model name, the target's parameters and the dialect's
 * defaults where the caller gave none, and usage always asked for in streams.
 */
export function editOpenAiRequest(
  body: RequestBody,
  facts: RequestFacts,
  target: UpstreamTarget,
  { defaults, unsent, further = [] }: OwnEdits,
): Buffer[] {
  const asks = facts.isStream && !facts.wantsUsage && !target.refuses?.has('stream_options');
  const edits = targetEdits(body, facts, target, defaults, unsent);
  if (asks) edits.unshift(askForUsage(body));
  return body.edited(further.length === 0 ? edits : [...further, ...edits]);
}

/** An empty list says nothing. vLLM and Ollama take it, OpenAI refuses it for some models: so it is not sent. */
export function emptyLists(body: RequestBody, names: readonly string[]): readonly Member[] {
  let found = none;
  for (const name of names) {
    const member = body.member(name);
    if (member && /^\[\s*\]/.test(body.text(member, emptyBytesMax))) found = [...found, member];
  }
  return found;
}

const none: readonly Member[] = [];

/** An empty list with more blanks in it has not been seen. */
const emptyBytesMax = 64;

/**
 * A plain answer is forwarded as its own bytes; it is looked at to check that it is complete and to read its usage, and parsed where
 * anything about it is unusual.
 *
 * @param repair Adds missing members that clients need; absent: the answer is forwarded unchanged.
 */
export function relayOpenAiAnswer(
  body: Buffer,
  textOf: (choice: JsonRecord) => string,
  repair?: () => OpenAiRepair,
): AnswerDocument {
  const plain = readPlainAnswer(body);
  if (plain) {
    const { usage, model } = plain;
    return { ok: true, body, usage, outputEstimate: usage.output, servedModel: model };
  }
  const read = readChoices(body);
  if (!read.ok) return read;
  const { answer, choices } = read;
  const usage = readOpenAiUsage(answer.usage);
  return {
    ok: true,
    body: !repair || lacksNothing(answer, choices) ? body : soundAnswer(body, answer, choices, repair()),
    usage,
    ...outputOf(usage, () => choices.filter(isRecord).map(textOf).join('')),
    servedModel: typeof answer.model === 'string' ? answer.model : undefined,
  };
}

function soundAnswer(
  body: Buffer,
  answer: JsonRecord,
  choices: readonly unknown[],
  repair: OpenAiRepair,
): Buffer {
  const sound = mapChoices(choices, (choice, position) => repair.wholeChoice(choice, position));
  const repaired = repair.repaired(() => body.toString('latin1'), answer, sound);
  return repaired === undefined ? body : Buffer.from(repaired, 'latin1');
}

function askForUsage(body: RequestBody): Edit {
  const member = body.member('stream_options');
  const given = member ? asRecord(body.read(member)) : undefined;
  return setMember(body, 'stream_options', JSON.stringify({ ...given, include_usage: true }));
}
