// What does a program that reads a stream with an official SDK take it for? Each SDK, each dialect it speaks, plain iteration
// and the SDK's own helper: whether anything was raised, in which words, and the text that was seen before.

import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { testKey } from '../gateway/rig.ts';

/** `iterating`: event by event. `helper`: the SDK gathers the answer itself, and gives it whole. */
export type Way = 'iterating' | 'helper';

export interface Reading {
  /** `whole`: nothing was raised, so the program goes on with what it has as if it were all. */
  readonly end: 'whole' | 'raised';
  /** Of what was raised. */
  readonly message: string;
  readonly text: string;
}

/** Where the gateway is: OpenAI clients want `/v1` at the end, Anthropic's not. */
export interface Address {
  readonly url: string;
  readonly baseUrl: string;
}

export interface StreamReader {
  readonly sdk: string;
  readonly dialect: DialectName;
  readonly way: Way;
  /** Asks once, whatever comes. */
  read(address: Address, model: string, prompt: string): Promise<Reading>;
}

type OnText = (text: string) => void;
type Reader<Client> = (client: Client, model: string, prompt: string, onText: OnText) => Promise<void>;

const openAiReaders: readonly (readonly [DialectName, Way, Reader<OpenAI>])[] = [
  [
    'openai-chat',
    'iterating',
    async (client, model, prompt, onText) => {
      const stream = await client.chat.completions.create({ model, messages: asked(prompt), stream: true });
      for await (const { choices } of stream) onText(choices[0]?.delta.content ?? '');
    },
  ],
  [
    'openai-chat',
    'helper',
    async (client, model, prompt, onText) => {
      const stream = client.chat.completions.stream({ model, messages: asked(prompt) });
      stream.on('content', onText);
      await stream.finalChatCompletion();
    },
  ],
  [
    'openai-completions',
    'iterating',
    async (client, model, prompt, onText) => {
      const stream = await client.completions.create({ model, prompt, stream: true });
      for await (const { choices } of stream) onText(choices[0]?.text ?? '');
    },
  ],
  [
    'openai-responses',
    'iterating',
    async (client, model, prompt, onText) => {
      const stream = await client.responses.create({ model, input: prompt, stream: true });
      for await (const event of stream) if (event.type === 'response.output_text.delta') onText(event.delta);
    },
  ],
  [
    'openai-responses',
    'helper',
    async (client, model, prompt, onText) => {
      const stream = client.responses.stream({ model, input: prompt });
      stream.on('response.output_text.delta', ({ delta }) => onText(delta));
      await stream.finalResponse();
    },
  ],
];

const anthropicReaders: readonly (readonly [DialectName, Way, Reader<Anthropic>])[] = [
  [
    'anthropic-messages',
    'iterating',
    async (client, model, prompt, onText) => {
      const body = { model, max_tokens: 64, messages: asked(prompt) };
      for await (const event of await client.messages.create({ ...body, stream: true })) {
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
          onText(event.delta.text);
      }
    },
  ],
  [
    'anthropic-messages',
    'helper',
    async (client, model, prompt, onText) => {
      const stream = client.messages.stream({ model, max_tokens: 64, messages: asked(prompt) });
      stream.on('text', onText);
      await stream.finalMessage();
    },
  ],
];

/** The versions that programs use today, and those before them. */
export const nodeReaders: readonly StreamReader[] = [
  ...openAiWith('openai 7', OpenAI),
  ...anthropicWith('anthropic 1', Anthropic),
];

// Private members keep classes of two versions from fitting each other in types; what is used here has the same form in both.
export const olderNodeReaders: readonly StreamReader[] = [
  ...openAiWith('openai 6', OpenAI6 as unknown as typeof OpenAI),
  ...anthropicWith('anthropic 0', Anthropic0 as unknown as typeof Anthropic),
];

function openAiWith(sdk: string, Sdk: typeof OpenAI): StreamReader[] {
  return openAiReaders.map(([dialect, way, reader]) => ({
    sdk,
    dialect,
    way,
    read: ({ baseUrl }, model, prompt) => {
      const client = new Sdk({ baseURL: baseUrl, apiKey: testKey, maxRetries: 0 });
      return readWith((onText) => reader(client, model, prompt, onText), [Sdk.OpenAIError]);
    },
  }));
}

function anthropicWith(sdk: string, Sdk: typeof Anthropic): StreamReader[] {
  return anthropicReaders.map(([dialect, way, reader]) => ({
    sdk,
    dialect,
    way,
    read: ({ url }, model, prompt) => {
      const client = new Sdk({ baseURL: url, apiKey: testKey, maxRetries: 0 });
      return readWith((onText) => reader(client, model, prompt, onText), [Sdk.AnthropicError]);
    },
  }));
}

async function readWith(
  read: (onText: OnText) => Promise<void>,
  raisable: readonly (abstract new (...args: never[]) => Error)[],
): Promise<Reading> {
  let text = '';
  try {
    await read((piece) => {
      text += piece;
    });
  } catch (error) {
    // Anything else is a mistake of the test.
    if (!(error instanceof Error) || !raisable.some((kind) => error instanceof kind)) throw error;
    return { end: 'raised', message: error.message, text };
  }
  return { end: 'whole', message: '', text };
}

function asked(content: string) {
  return [{ role: 'user' as const, content }];
}
