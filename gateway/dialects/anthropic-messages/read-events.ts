// What do the members of an upstream's message say that stand in plain answers and in events alike?

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { RefusalDetails } from '../conversation.ts';
import type { ToolNames } from '../tools/tool-names.ts';

/** How one call's answer is to be read. */
export interface AnswerReading {
  readonly names: ToolNames;
  /** Marks opaque state. */
  readonly origin: string;
  /** A call of this name is the answer itself, see `answer-tool.ts`. */
  readonly answerTool: string | undefined;
}

/** Of a block, or of its start. */
export function isAnswerCall({ type, name }: JsonRecord, { answerTool }: AnswerReading): boolean {
  return type === 'tool_use' && answerTool !== undefined && name === answerTool;
}

export interface ReadEnding {
  /** As the upstream said it; null or absent while it has not ended. */
  readonly reason: unknown;
  readonly stopSequence?: string;
  readonly refusal?: RefusalDetails;
}

/** From a message, or the delta of a `message_delta` event. */
export function readEnding(members: JsonRecord): ReadEnding {
  const { stop_reason: reason, stop_sequence: stopSequence } = members;
  const details = asRecord(members.stop_details);
  return {
    reason,
    ...(typeof stopSequence === 'string' ? { stopSequence } : {}),
    ...(reason === 'refusal' && details
      ? { refusal: { category: textOrNull(details.category), explanation: textOrNull(details.explanation) } }
      : {}),
  };
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
