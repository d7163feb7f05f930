// Does the key work? One streamed request from this browser straight to the gateway; its words are shown as they arrive.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Button, Notice } from '../parts/basics.tsx';
import { useShell } from '../shell/context.tsx';
import { openStreamReader } from './read-stream.ts';

type State =
  | { readonly is: 'idle' }
  | {
      readonly is: 'running' | 'done';
      readonly text: string;
      readonly firstMs: number | undefined;
      readonly allMs: number;
    }
  | { readonly is: 'failed'; readonly message: string };

export function TestCall({
  address,
  keyText,
  model,
}: {
  readonly address: string;
  readonly keyText: string;
  readonly model: string;
}) {
  const { formats, announce } = useShell();
  const [state, setState] = useState<State>({ is: 'idle' });
  const controller = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => controller.current?.abort(), []);

  const run = async () => {
    controller.current?.abort();
    const own = new AbortController();
    controller.current = own;
    const startedMs = performance.now();
    setState({ is: 'running', text: '', firstMs: undefined, allMs: 0 });
    try {
      const response = await fetch(`${address.replace(/\/+$/, '')}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keyText}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model,
          stream: true,
          messages: [{ role: 'user', content: 'Say hello in one sentence.' }],
        }),
        credentials: 'omit',
        signal: own.signal,
      }).catch((error: unknown) => {
        if (own.signal.aborted) throw error;
        throw new Error(
          `The gateway at ${address} cannot be reached from this browser, or does not allow this page to call it (CORS). Use a snippet in a terminal instead.`,
        );
      });
      if (!response.ok || response.body === null) {
        const answer = (await response.json().catch(() => undefined)) as
          | { error?: { message?: string } }
          | undefined;
        throw new Error(`${response.status}: ${answer?.error?.message ?? 'no reason given'}`);
      }
      const reader = openStreamReader();
      let text = '';
      let firstMs: number | undefined;
      for await (const piece of piecesOf(response.body)) {
        text += reader.take(piece);
        const allMs = performance.now() - startedMs;
        if (text !== '') firstMs ??= allMs;
        setState({ is: 'running', text, firstMs, allMs });
      }
      if (!reader.isDone()) throw new Error(`The answer was cut off after “${text}”.`);
      setState({ is: 'done', text, firstMs, allMs: performance.now() - startedMs });
      announce('Test request answered.');
    } catch (error) {
      if (!own.signal.aborted) setState({ is: 'failed', message: (error as Error).message });
    }
  };

  const isRunning = state.is === 'running';
  return (
    <div class="test">
      <div class="row">
        <Button onClick={() => void run()} disabled={isRunning}>
          {isRunning ? 'Asking…' : 'Test'}
        </Button>
        <span class="hint">Sends one short request from this browser. It is billed as usual.</span>
      </div>
      {state.is === 'failed' && (
        <Notice tone="bad" title="Test request failed">
          <p>{state.message}</p>
        </Notice>
      )}
      {(state.is === 'running' || state.is === 'done') && (
        <div class="answer">
          <p class="answer-text">{state.text || '…'}</p>
          <p class="hint">
            {model}
            {state.firstMs !== undefined && ` · first token ${formats.milliseconds(state.firstMs)}`}
            {state.is === 'done' && ` · total ${formats.milliseconds(state.allMs)}`}
          </p>
        </div>
      )}
    </div>
  );
}

async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
