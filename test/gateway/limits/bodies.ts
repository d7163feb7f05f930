// One small request in each dialect, with room for twenty tokens.

export const content = [{ role: 'user', content: 'three plain words' }];

export const dialects = {
  '/v1/chat/completions': { model: 'm', max_tokens: 20, messages: content },
  '/v1/completions': { model: 'm', max_tokens: 20, prompt: 'three plain words' },
  '/v1/responses': { model: 'm', max_output_tokens: 20, input: 'three plain words' },
  '/v1/messages': { model: 'm', max_tokens: 20, messages: content },
} as const;

export type Path = keyof typeof dialects;

export const paths = Object.keys(dialects) as Path[];
