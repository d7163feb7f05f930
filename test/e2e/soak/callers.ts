// Who calls the gateways all the time? A few callers with the vendors' own SDKs, plain and streamed, with no retry of their own,
// so that each answer that is not as it should be is a failure. They go to the gateways that are in service, as a Service does.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { GatewayProcess } from '../../flow/cluster/installation.ts';
import type { Random } from '../../simulation/random.ts';

export interface Callers {
  /** A gateway that is about to end gets no further requests; those that it has go on. */
  withdraw(gateway: GatewayProcess): void;
  putBack(gateway: GatewayProcess): void;
  counts(): { readonly asked: number; readonly streamed: number };
  /** Settled when the last answer has ended. */
  stop(): Promise<void>;
}

export interface CallersOptions {
  readonly gateways: readonly GatewayProcess[];
  readonly random: Random;
  readonly models: readonly [string, ...string[]];
  /** One that works now. */
  key(): string;
  onFailure(what: string): void;
}

const callers = 4;
const pauseMs = 300;
const prompt = 'three plain words';
/** The simulator reads it from the upstream's model name; a route may have one of these. */
export const slowModel = 'slow+pace=150+tokens=40';

export function startCallers(options: CallersOptions): Callers {
  const { random } = options;
  const inService = new Set(options.gateways);
  let turn = 0;
  let asked = 0;
  let streamed = 0;
  let isOver = false;

  const ways: readonly [Way, ...Way[]] = [chatPlain, chatStream, messagesPlain, messagesStream];
  const running = Array.from({ length: callers }, async () => {
    while (!isOver) {
      const gateway = [...inService][turn++ % inService.size];
      if (gateway === undefined) throw new Error('no gateway is in service');
      const way = random.pick(ways);
      const model = random.pick(options.models);
      const call = { baseUrl: gateway.baseUrl, apiKey: options.key(), model };
      const startedMs = performance.now();
      try {
        const text = await way(call);
        if (text === '') throw new Error('the answer is empty');
      } catch (error) {
        const afterMs = Math.round(performance.now() - startedMs);
        options.onFailure(`${gateway.name} ${way.name} ${model} after ${afterMs} ms: ${describe(error)}`);
      }
      asked++;
      if (way === chatStream || way === messagesStream) streamed++;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  });

  return {
    withdraw: (gateway) => void inService.delete(gateway),
    putBack: (gateway) => void inService.add(gateway),
    counts: () => ({ asked, streamed }),
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
  };
}

interface Call {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

/** Gives the text of the answer. */
type Way = (call: Call) => Promise<string>;

const openai = ({ baseUrl, apiKey }: Call) =>
  new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0, timeout: 60_000 });
const anthropic = ({ baseUrl, apiKey }: Call) =>
  new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, maxRetries: 0, timeout: 60_000 });

async function chatPlain(call: Call): Promise<string> {
  const answer = await openai(call).chat.completions.create({
    model: call.model,
    messages: [{ role: 'user', content: prompt }],
  });
  return answer.choices[0]?.message.content ?? '';
}

async function chatStream(call: Call): Promise<string> {
  const stream = openai(call).chat.completions.stream({
    model: call.model,
    messages: [{ role: 'user', content: prompt }],
  });
  const { choices } = await stream.finalChatCompletion();
  if (choices[0]?.finish_reason !== 'stop')
    throw new Error(`the stream ended with ${choices[0]?.finish_reason}`);
  return choices[0].message.content ?? '';
}

async function messagesPlain(call: Call): Promise<string> {
  const answer = await anthropic(call).messages.create({
    model: call.model,
    max_tokens: 200,
    messages: [{ role: 'user', content: prompt }],
  });
  return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

async function messagesStream(call: Call): Promise<string> {
  const stream = anthropic(call).messages.stream({
    model: call.model,
    max_tokens: 200,
    messages: [{ role: 'user', content: prompt }],
  });
  const answer = await stream.finalMessage();
  if (answer.stop_reason !== 'end_turn') throw new Error(`the stream ended with ${answer.stop_reason}`);
  return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${describe(error.cause)})` : '';
  return `${error.message}${cause}`;
}
