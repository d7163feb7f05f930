// A conversation to and from a completions upstream. Only a single user text can be carried; it
// is the prompt.

import { GatewayError } from '../../errors.ts';
import { asRecord, type JsonRecord, tryParseJson } from '../../json/record.ts';
import type { Conversation } from '../conversation.ts';
import type {
  AnswerFacts,
  AnswerFault,
  StreamDecoder,
  UpstreamTarget,
  UpstreamTranslation,
} from '../dialect.ts';
import { OpenAiChunkReader } from '../openai-chunks.ts';
import { readErrorMember } from '../openai-error.ts';
import { decodeOpenAiFinish } from '../openai-finish.ts';
import { freshFacts } from '../openai-relay.ts';
import { readOpenAiUsage } from '../openai-usage.ts';
import type { StreamPart } from '../stream-part.ts';

export const completionsUpstream: UpstreamTranslation = {
  encodeRequest: encodeCompletionRequest,
  decodeAnswer: decodeCompletionAnswer,
  streamDecoder: (choices) => new CompletionStreamDecoder(choices),
};

function encodeCompletionRequest(conversation: Conversation, target: UpstreamTarget): Buffer {
  const { sampling, defaults, maxOutputTokens } = conversation;
  const given = {
    max_tokens: maxOutputTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    logit_bias: sampling.logitBias,
    seed: sampling.seed,
    stop: sampling.stop,
    user: conversation.endUser,
  };
  return Buffer.from(
    JSON.stringify({
      presence_penalty: 0,
      frequency_penalty: 0,
      ...(defaults && {
        max_tokens: defaults.maxOutputTokens,
        temperature: defaults.temperature,
        top_p: defaults.topP,
      }),
      ...target.parameters,
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
      model: target.upstreamModel,
      prompt: promptOf(conversation),
      n: conversation.choices,
      stream: undefined,
      stream_options: undefined,
      ...(target.isStream && {
        stream: true,
        stream_options: { ...asRecord(target.parameters.stream_options), include_usage: true },
      }),
    }),
  );
}

function promptOf({ system, turns }: Conversation): string {
  const [turn] = turns;
  const [part] = turn?.parts ?? [];
  if (system.length === 0 && turns.length === 1 && turn?.parts.length === 1 && part?.type === 'text')
    return part.text;
  throw new GatewayError(
    'unsupported_parameter',
    'A completions upstream takes one text prompt; a conversation of several turns cannot be carried to it.',
    { param: 'messages' },
  );
}

function decodeCompletionAnswer(body: Buffer): ReturnType<UpstreamTranslation['decodeAnswer']> {
  const value = asRecord(tryParseJson(body.toString('utf8')));
  const malformed = (detail: string): { ok: false; fault: AnswerFault } => ({
    ok: false,
    fault: { kind: 'malformed', detail },
  });
  if (!value) return malformed('the answer is not a JSON object');
  const error = readErrorMember(value);
  if (error) return { ok: false, fault: { kind: 'error-event', error } };
  if (!Array.isArray(value.choices)) return malformed("the answer has no list 'choices'");
  const usage = readOpenAiUsage(value.usage);
  return {
    ok: true,
    answer: {
      id: String(value.id ?? ''),
      model: String(value.model ?? ''),
      createdAt: Number(value.created ?? 0),
      choices: value.choices.map((entry, position) => {
        const choice = asRecord(entry);
        return {
          index: typeof choice?.index === 'number' ? choice.index : position,
          parts: [{ type: 'text', text: String(choice?.text ?? '') }],
          finish: decodeOpenAiFinish(choice?.finish_reason, false),
        };
      }),
      ...(usage ? { usage } : {}),
    },
  };
}

class CompletionStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = new OpenAiChunkReader(this.facts);
  private readonly choices: number;
  private readonly started = new Set<number>();
  private readonly finished = new Set<number>();

  constructor(choices: number) {
    this.choices = choices;
  }

  push(chunk: Buffer): readonly StreamPart[] {
    return this.decode(this.reader.push(chunk));
  }

  end(): readonly StreamPart[] {
    const parts = this.decode(this.reader.end());
    if (!this.facts.isComplete && !this.facts.fault) {
      if (this.finished.size >= this.choices) this.facts.isComplete = true;
      else this.facts.fault = { kind: 'truncated' };
    }
    return parts;
  }

  private decode(chunks: readonly JsonRecord[]): readonly StreamPart[] {
    const parts: StreamPart[] = [];
    for (const chunk of chunks) this.chunk(chunk, parts);
    return parts;
  }

  private chunk(chunk: JsonRecord, parts: StreamPart[]): void {
    if (this.facts.servedModel === undefined) {
      const model = String(chunk.model ?? '');
      this.facts.servedModel = model;
      parts.push({
        type: 'answer-start',
        id: String(chunk.id ?? ''),
        model,
        createdAt: Number(chunk.created ?? 0),
      });
    }
    for (const entry of Array.isArray(chunk.choices) ? chunk.choices : []) {
      const choice = asRecord(entry);
      if (choice) this.choice(choice, parts);
    }
    const usage = readOpenAiUsage(chunk.usage);
    if (usage) {
      this.facts.usage = usage;
      parts.push({ type: 'usage', usage });
    }
  }

  private choice(choice: JsonRecord, parts: StreamPart[]): void {
    const index = typeof choice.index === 'number' ? choice.index : 0;
    if (typeof choice.text === 'string' && choice.text !== '') {
      if (!this.started.has(index)) {
        this.started.add(index);
        parts.push({ type: 'part-start', choice: index, index: 0, head: { type: 'text' } });
      }
      this.facts.hasContent = true;
      this.facts.outputEstimate++;
      parts.push({ type: 'part-delta', choice: index, index: 0, text: choice.text });
    }
    const reason = choice.finish_reason;
    if (typeof reason !== 'string' || reason === '' || this.finished.has(index)) return;
    this.finished.add(index);
    if (this.started.has(index)) parts.push({ type: 'part-end', choice: index, index: 0 });
    parts.push({
      type: 'choice-end',
      choice: index,
      finish: decodeOpenAiFinish(reason, false),
    });
  }
}
