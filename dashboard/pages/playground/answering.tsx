// How does one model answer? Streamed as it comes, with its times, tokens and the id of the request.

import { useEffect, useState } from 'preact/hooks';
import { Notice } from '../parts/basics.tsx';
import { requestsLink } from '../requests/link.ts';
import { ApiError } from '../shell/api.ts';
import { Link, useShell } from '../shell/context.tsx';
import { type Answer, type Chat, streamChat } from './chat.ts';

interface AnsweringProps {
  /** Sent once: another chat needs another element. */
  readonly chat: Chat;
  /** Stops it; what has come stays. */
  readonly signal: AbortSignal;
  readonly whenEnded: () => void;
}

export function Answering({ chat, signal, whenEnded }: AnsweringProps) {
  const { formats, announce } = useShell();
  const [answer, setAnswer] = useState<Answer | undefined>(undefined);
  const [end, setEnd] = useState<{ readonly word?: string; readonly error?: Error } | undefined>(undefined);
  useEffect(() => {
    const gone = new AbortController();
    const any = AbortSignal.any([signal, gone.signal]);
    streamChat(chat, any, setAnswer)
      .then(
        () => {
          setEnd({ word: 'total' });
          announce(`${chat.model} has answered.`);
        },
        (error: Error) => setEnd(signal.aborted ? { word: 'stopped after' } : { error }),
      )
      .finally(() => {
        if (!gone.signal.aborted) whenEnded();
      });
    return () => gone.abort();
  }, []);
  const { error } = end ?? {};
  const id =
    answer?.id ?? (error instanceof ApiError && typeof error.body === 'string' ? error.body : undefined);
  return (
    <div class="answer" aria-busy={end === undefined}>
      {(answer || !error) && <p class="answer-text">{answer?.text || '…'}</p>}
      {error !== undefined && (
        <Notice tone="bad" title={`${chat.model}: request failed`}>
          <p>{error.message}</p>
        </Notice>
      )}
      <p class="hint">
        {chat.model}
        {answer?.firstMs !== undefined && ` · first token ${formats.milliseconds(answer.firstMs)}`}
        {answer && end?.word && ` · ${end.word} ${formats.milliseconds(answer.allMs)}`}
        {answer?.tokens && ` · ${answer.tokens.input} tokens in, ${answer.tokens.output} out`}
        {answer && ` · status ${answer.status}`}
        {id && (
          <>
            {' · '}
            <Link to={requestsLink({ request: id })}>{id}</Link>
          </>
        )}
      </p>
    </div>
  );
}
