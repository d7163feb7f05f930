// Our stream parts as text completion chunks: those of all calls come mixed, numbered over all prompts.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import type { FinishReason } from '../conversation.ts';
import type { AnswerHead, PartsEncoder, StreamEncoder } from '../dialect.ts';
import { encodeOpenAiUsage } from '../openai/convert-usage.ts';
import { encodeCompletionFinish } from '../openai/map-finish-reason.ts';
import type { StreamPart } from '../stream-part.ts';
import { type CompletionShape, echoOf, firstIndex, sumUsage } from './encode-answer.ts';

type WriteFrame = (choices: readonly unknown[], usage?: unknown) => string;

export function encodeCompletionStream(head: AnswerHead, shape: CompletionShape): StreamEncoder {
  const attempts = new Map<number, CallEncoder>();
  // One request reports one model name: that of its first call, until a failover replaces that attempt.
  let model: string | undefined;
  let modelOf: number | undefined;
  const top = JSON.stringify({
    id: `cmpl-${head.id}`,
    object: 'text_completion',
    created: head.createdAt,
  }).slice(0, -1);
  // Most of a stream is made of these: put together from pieces, a translated event costs a sixth less.
  const frame: WriteFrame = (choices, usage = null) => {
    const end = shape.wantsUsage ? `,"usage":${JSON.stringify(usage)}}` : '}';
    return `data: ${top},"choices":${JSON.stringify(choices)},"model":${JSON.stringify(model ?? head.model)}${end}\n\n`;
  };
  return {
    open(call) {
      if (modelOf === call) model = undefined;
      const encoder = new CallEncoder(firstIndex(call, shape), echoOf(call, shape), frame, (served) => {
        if (served === '' || model !== undefined) return;
        model = served;
        modelOf = call;
      });
      attempts.set(call, encoder);
      return encoder;
    },
    close() {
      const usage = sumUsage([...attempts.values()].map((encoder) => encoder.usage));
      return shape.wantsUsage && usage ? frame([], encodeOpenAiUsage(usage)) : '';
    },
  };
}

/** One attempt at one call. */
class CallEncoder implements PartsEncoder {
  usage: Usage | undefined;
  private readonly firstIndex: number;
  private readonly echoed: string;
  private readonly frame: WriteFrame;
  private readonly onModel: (model: string) => void;
  private readonly echoedChoices = new Set<number>();
  /** The choices whose open part is shown; thinking and calls have no place in a completion. */
  private readonly shown = new Set<number>();
  private readonly refused = new Set<number>();

  constructor(firstIndex: number, echoed: string, frame: WriteFrame, onModel: (model: string) => void) {
    this.firstIndex = firstIndex;
    this.echoed = echoed;
    this.frame = frame;
    this.onModel = onModel;
  }

  encode(parts: readonly StreamPart[]): string {
    let text = '';
    for (const part of parts) text += this.part(part);
    return text;
  }

  private part(part: StreamPart): string {
    switch (part.type) {
      case 'answer-start':
        this.onModel(part.model);
        return '';
      case 'part-start':
        if (part.head.type === 'text' || part.head.type === 'refusal') this.shown.add(part.choice);
        else this.shown.delete(part.choice);
        if (part.head.type === 'refusal') this.refused.add(part.choice);
        return '';
      case 'part-delta':
        if (!this.shown.has(part.choice)) return '';
        return this.echo(part.choice) + this.choice(part.choice, part.text, null);
      case 'choice-end':
        return this.echo(part.choice) + this.choice(part.choice, '', this.finishOf(part.choice, part.finish));
      case 'usage':
        this.usage = part.usage;
        return '';
      case 'ping':
        return ': keep-alive\n\n';
      case 'part-end':
        return '';
    }
  }

  private finishOf(choice: number, finish: FinishReason): string {
    return encodeCompletionFinish(finish, this.refused.has(choice));
  }

  private echo(choice: number): string {
    if (this.echoed === '' || this.echoedChoices.has(choice)) return '';
    this.echoedChoices.add(choice);
    return this.choice(choice, this.echoed, null);
  }

  private choice(choice: number, text: string, finish: string | null): string {
    return this.frame([{ text, index: this.firstIndex + choice, logprobs: null, finish_reason: finish }]);
  }
}
