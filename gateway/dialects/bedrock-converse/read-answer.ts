// What do the members of a Converse answer say that are the same in plain answers and in events?

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import { believeCount as count } from '../answer/believe-count.ts';
import { noError } from '../answer/read-error.ts';
import type { FinishReason, RefusalDetails } from '../conversation.ts';
import type { AnswerFault } from '../dialect.ts';

export const saysNothing = 'the answer ended without content';

/** Input counts of Converse leave cached tokens out; ours have them in. */
export function converseUsageOf(value: unknown): Usage | undefined {
  const usage = asRecord(value);
  const [input, output] = [count(usage?.inputTokens), count(usage?.outputTokens)];
  if (input === undefined || output === undefined) return undefined;
  const cachedInput = count(usage?.cacheReadInputTokens) ?? 0;
  const cacheWrite = count(usage?.cacheWriteInputTokens) ?? 0;
  const details = Array.isArray(usage?.cacheDetails) ? usage.cacheDetails.map(asRecord) : [];
  const hours = details
    .filter((detail) => detail?.ttl === '1h')
    .map((detail) => count(detail?.inputTokens) ?? 0);
  const hour = Math.min(
    hours.reduce((sum, tokens) => sum + tokens, 0),
    cacheWrite,
  );
  return {
    input: input + cachedInput + cacheWrite,
    cachedInput,
    cacheWrite,
    ...(hour > 0 ? { cacheWriteHour: hour } : {}),
    output,
    reasoning: 0,
  };
}

interface Ending {
  readonly finish: FinishReason;
  readonly isAssumed?: boolean;
  readonly stopSequence?: string;
  readonly refusal?: RefusalDetails;
}

/** @param members Of a plain answer, or of `messageStop`. */
export function readConverseEnding(members: JsonRecord, hasCalls: boolean, hasAnswerTool: boolean): Ending {
  const { stopReason: reason } = members;
  switch (reason) {
    case 'end_turn':
      return { finish: hasCalls ? 'tool-calls' : 'stop' };
    case 'tool_use':
      // The only call was the answer.
      return { finish: !hasCalls && hasAnswerTool ? 'stop' : 'tool-calls' };
    case 'max_tokens':
      return { finish: 'length' };
    case 'model_context_window_exceeded':
      return { finish: 'context-full' };
    case 'stop_sequence': {
      const { stop_sequence: met } = asRecord(members.additionalModelResponseFields) ?? {};
      return { finish: 'stop-sequence', ...(typeof met === 'string' ? { stopSequence: met } : {}) };
    }
    case 'guardrail_intervened':
    case 'content_filtered':
      return { finish: 'content-filter', refusal: { category: reason, explanation: null } };
    default:
      return { finish: hasCalls ? 'tool-calls' : 'stop', isAssumed: true };
  }
}

/** An answer that the model has spoilt counts as failed: another try may succeed. */
export function faultOfReason({ stopReason: reason }: JsonRecord): AnswerFault | undefined {
  if (reason !== 'malformed_model_output' && reason !== 'malformed_tool_use') return undefined;
  const message = 'The model wrote an answer that cannot be read.';
  return { kind: 'error-event', error: { ...noError, message, type: reason, status: 502 } };
}
