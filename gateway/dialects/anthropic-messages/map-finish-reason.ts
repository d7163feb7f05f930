// Why did an answer end, in the words of messages?

import type { AnswerReading } from '../anthropic/read-events.ts';
import type { FinishReason, RefusalDetails } from '../conversation.ts';

/** Unknown and absent reasons mean a natural end, unless tools were called; those that mean failure do not come so far. */
export function decodeStopReason(
  value: unknown,
  hasCalls: boolean,
  { answerTool }: Pick<AnswerReading, 'answerTool'>,
): FinishReason {
  switch (value) {
    case 'max_tokens':
      return 'length';
    case 'model_context_window_exceeded':
      return 'context-full';
    case 'stop_sequence':
      return 'stop-sequence';
    case 'tool_use':
      // The only call was the answer.
      return !hasCalls && answerTool !== undefined ? 'stop' : 'tool-calls';
    case 'refusal':
      return 'content-filter';
    case 'pause_turn':
      return 'pause';
    default:
      return hasCalls ? 'tool-calls' : 'stop';
  }
}

/** How an answer ended. */
export interface Ending {
  readonly finish: FinishReason;
  readonly stopSequence?: string | undefined;
  readonly refusal?: RefusalDetails | undefined;
}

/** What an answer held says how it ended, whatever the upstream calls it. */
interface Held {
  readonly hasCalls: boolean;
  readonly hasRefusal: boolean;
}

/** The members of a message, and of its last delta, that say how it ended. */
export function encodeEnding(
  { finish: reported, stopSequence, refusal }: Ending,
  { hasCalls, hasRefusal }: Held,
) {
  const finish = reported === 'stop' && hasRefusal ? 'content-filter' : reported;
  return {
    stop_reason: encodeStopReason(finish, hasCalls),
    stop_sequence: finish === 'stop-sequence' ? (stopSequence ?? null) : null,
    stop_details:
      finish === 'content-filter'
        ? {
            type: 'refusal',
            category: refusal?.category ?? null,
            explanation: refusal?.explanation ?? null,
          }
        : null,
  };
}

function encodeStopReason(finish: FinishReason, hasCalls: boolean): string {
  switch (finish) {
    // Clients run tools by this word: it has to agree with what they got.
    case 'stop':
    case 'tool-calls':
      return hasCalls ? 'tool_use' : 'end_turn';
    case 'stop-sequence':
      return 'stop_sequence';
    case 'length':
      return 'max_tokens';
    case 'context-full':
      return 'model_context_window_exceeded';
    case 'content-filter':
      return 'refusal';
    case 'pause':
      return 'pause_turn';
  }
}
