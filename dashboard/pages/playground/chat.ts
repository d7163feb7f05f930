// How does a page ask a model? From the browser straight to the gateway, with a key that the dashboard's server never sees.

import { ApiError } from '../shell/api.ts';
import { openStreamReader } from './read-stream.ts';

export interface Chat {
  /** Of the gateway, without `/v1`. */
  readonly address: string;
  readonly key: string;
  readonly model: string;
  readonly messages: readonly { readonly role: 'system' | 'user'; readonly content: string }[];
}

/** The answer so far. */
export interface Answer {
  readonly text: string;
  readonly status: number;
  /** The `x-request-id`. */
  readonly id: string | undefined;
  readonly firstMs: number | undefined;
  readonly allMs: number;
  readonly tokens: { readonly input: number; readonly output: number } | undefined;
}

/** @throws Error in the gateway's words. */
export async function streamChat(
  { address, key, model, messages }: Chat,
  signal: AbortSignal,
  whenHeard: (answer: Answer) => void,
): Promise<void> {
  const startedMs = performance.now();
  const response = await callGateway(address, 'chat/completions', key, signal, {
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages,
  });
  const id = response.headers.get('x-request-id') ?? undefined;
  const reader = openStreamReader();
  let text = '';
  let firstMs: number | undefined;
  const hear = () => {
    const allMs = performance.now() - startedMs;
    if (text !== '') firstMs ??= allMs;
    whenHeard({ text, status: response.status, id, firstMs, allMs, tokens: reader.tokens() });
  };
  hear();
  if (response.body === null) throw new Error('The answer has no body.');
  const pieces = response.body.pipeThrough(new TextDecoderStream());
  for await (const piece of piecesOf(pieces)) {
    text += reader.take(piece);
    hear();
  }
  if (!reader.isDone()) throw new Error(`The answer was cut off after “${text}”.`);
}

/** Ids of the models that a key can call, those without a price last: keys with a budget cannot call them. @throws ApiError in the gateway's words. */
export async function listModels(
  address: string,
  key: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const answer = (await (await callGateway(address, 'models', key, signal)).json()) as {
    readonly data: readonly { readonly id: string; readonly pricing?: object | null }[];
  };
  return answer.data
    .toSorted((a, b) => Number(a.pricing === null) - Number(b.pricing === null))
    .map(({ id }) => id);
}

async function callGateway(
  address: string,
  path: string,
  key: string,
  signal: AbortSignal,
  body?: object,
): Promise<Response> {
  const response = await fetch(`${address.replace(/\/+$/, '')}/v1/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
    credentials: 'omit',
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new ApiError(
      0,
      'offline',
      `The gateway at ${address} cannot be reached from this browser, or does not allow this page to call it (CORS). Use a snippet in a terminal instead.`,
    );
  });
  if (response.ok) return response;
  const answer = (await response.json().catch(() => undefined)) as
    | { readonly error?: { readonly message?: string } }
    | undefined;
  const id = response.headers.get('x-request-id');
  throw new ApiError(
    response.status,
    'refused',
    `${response.status}: ${answer?.error?.message ?? 'no reason given'}`,
    id,
  );
}

async function* piecesOf<Piece>(stream: ReadableStream<Piece>): AsyncGenerator<Piece> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
