// Our answers as a text completion: one list of choices over all prompts.

import type { Usage } from '../../contract/ledger-record.ts';
import type { FinishReason, ModelAnswer } from '../conversation.ts';
import type { AnswerHead, RequestFacts, StreamEncoder } from '../dialect.ts';
import { addUsage, encodeOpenAiUsage } from '../openai-usage.ts';
import type { StreamPart } from '../stream-part.ts';

/** What encoding needs to know of the request besides the answers. */
export interface CompletionShape {
  readonly n: number;
  /** The prompts, where the caller asked for them to stand before the text. */
  readonly echoed: readonly string[] | undefined;
}

export function encodeCompletionAnswer(
  answers: readonly ModelAnswer[],
  head: AnswerHead,
  { n, echoed }: CompletionShape,
): Buffer {
  const usage = sumUsage(answers.map((answer) => answer.usage));
  const choices = answers.flatMap((answer, prompt) =>
    answer.choices.map(({ index, parts, finish }) => ({
      text:
        (echoed?.[prompt] ?? '') +
        parts.map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : '')).join(''),
      index: prompt * n + index,
      logprobs: null,
      finish_reason: encodeFinish(finish),
    })),
  );
  return Buffer.from(
    JSON.stringify({
      id: `cmpl-${head.id}`,
      object: 'text_completion',
      created: head.createdAt,
      model: answers[0]?.model ?? '',
      choices: choices.toSorted((a, b) => a.index - b.index),
      ...(usage ? { usage: encodeOpenAiUsage(usage) } : {}),
    }),
  );
}

export function encodeCompletionStream(
  facts: RequestFacts,
  head: AnswerHead,
  shape: CompletionShape,
): StreamEncoder {
  const attempts = new Map<number, ConversationEncoder>();
  const frame = (choices: readonly unknown[], model: string, usage: unknown = null): string => {
    const chunk = {
      id: `cmpl-${head.id}`,
      object: 'text_completion',
      created: head.createdAt,
      choices,
      model,
      ...(facts.wantsUsage ? { usage } : {}),
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  };
  return {
    open(conversation) {
      const encoder = new ConversationEncoder(conversation * shape.n, shape.echoed?.[conversation], frame);
      attempts.set(conversation, encoder);
      return (parts) => parts.map((part) => encoder.encode(part)).join('');
    },
    close() {
      const encoders = [...attempts.values()];
      const usage = sumUsage(encoders.map((encoder) => encoder.usage));
      if (!facts.wantsUsage || !usage) return '';
      return frame([], encoders[0]?.model ?? '', encodeOpenAiUsage(usage));
    },
  };
}

/** One attempt at one prompt. */
class ConversationEncoder {
  usage: Usage | undefined;
  model = '';
  private readonly firstIndex: number;
  private readonly echoed: string | undefined;
  private readonly frame: (choices: readonly unknown[], model: string) => string;
  private readonly echoedChoices = new Set<number>();
  /** Open parts whose text is shown, by choice and part; thinking has no place in a completion. */
  private readonly shown = new Set<string>();

  constructor(
    firstIndex: number,
    echoed: string | undefined,
    frame: (choices: readonly unknown[], model: string) => string,
  ) {
    this.firstIndex = firstIndex;
    this.echoed = echoed;
    this.frame = frame;
  }

  encode(part: StreamPart): string {
    switch (part.type) {
      case 'answer-start':
        this.model = part.model;
        return '';
      case 'part-start':
        if (part.head.type === 'text' || part.head.type === 'refusal') {
          this.shown.add(`${part.choice}.${part.index}`);
        }
        return '';
      case 'part-delta':
        if (!this.shown.has(`${part.choice}.${part.index}`)) return '';
        return this.echo(part.choice) + this.choice(part.choice, part.text, null);
      case 'choice-end':
        return this.echo(part.choice) + this.choice(part.choice, '', encodeFinish(part.finish));
      case 'usage':
        this.usage = part.usage;
        return '';
      case 'part-end':
      case 'ping':
        return '';
    }
  }

  private echo(choice: number): string {
    if (this.echoed === undefined || this.echoedChoices.has(choice)) return '';
    this.echoedChoices.add(choice);
    return this.choice(choice, this.echoed, null);
  }

  private choice(choice: number, text: string, finish: string | null): string {
    return this.frame(
      [{ text, index: this.firstIndex + choice, logprobs: null, finish_reason: finish }],
      this.model,
    );
  }
}

function sumUsage(usages: readonly (Usage | undefined)[]): Usage | undefined {
  return usages.reduce((sum, usage) => (sum && usage ? addUsage(sum, usage) : (sum ?? usage)), undefined);
}

function encodeFinish(finish: FinishReason): string {
  switch (finish) {
    case 'length':
    case 'context-full':
      return 'length';
    case 'content-filter':
      return 'content_filter';
    case 'stop':
    case 'stop-sequence':
    case 'tool-calls':
    case 'pause':
      return 'stop';
  }
}
