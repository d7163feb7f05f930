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

/** @param reason Null or absent while a message has not ended. */
export function hasEnded(reason: unknown): boolean {
  return isText(reason);
}

/** The fault of a message that has only its end mark. */
export const saysNothing = 'the message ended without content and without a stop reason';

/** For a plain message. Without content and without a stop reason it counts as failed: another upstream can give the whole answer. */
export function isAnswer({ content, stop_reason: reason }: JsonRecord): boolean {
  return (
    hasEnded(reason) || (Array.isArray(content) && content.some((block) => hasBlockContent(asRecord(block))))
  );
}

/** A text or thinking block starts empty and is filled by deltas: empty, it is not content yet. */
export function hasBlockContent(block: JsonRecord | undefined): boolean {
  switch (block?.type) {
    case undefined:
      return false;
    case 'text':
      return isText(block.text);
    case 'thinking':
      return isText(block.thinking);
    default:
      return true;
  }
}

export function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
