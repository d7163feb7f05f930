// How does a support test talk to the wall? A request in each of the four dialects.

export interface Tongue {
  readonly name: string;
  readonly path: string;
  /** Events before the first token of a streamed text. */
  readonly leading: number;
  /** Events after the last one. */
  readonly trailing: number;
  readonly prompt: object;
}

const messages = [{ role: 'user', content: 'three plain words' }];

export const tongues: readonly Tongue[] = [
  { name: 'openai-chat', path: '/v1/chat/completions', leading: 1, trailing: 2, prompt: { messages } },
  {
    name: 'openai-completions',
    path: '/v1/completions',
    leading: 0,
    trailing: 2,
    prompt: { prompt: 'four very plain words' },
  },
  {
    name: 'anthropic-messages',
    path: '/v1/messages',
    leading: 3,
    trailing: 3,
    prompt: { messages, max_tokens: 64 },
  },
  {
    name: 'openai-responses',
    path: '/v1/responses',
    leading: 4,
    trailing: 4,
    prompt: { input: 'four very plain words' },
  },
];

export function bodyOf({ prompt }: Tongue, more: object = {}): object {
  return { model: 'small', ...prompt, ...more };
}

export const chatPath = '/v1/chat/completions';

export function chatBody(more: object = {}): object {
  return { model: 'small', messages, ...more };
}
