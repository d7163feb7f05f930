// How does one click change an object? Sent, announced and reloaded; a refusal stays on the page.

import { useState } from 'preact/hooks';
import type { Api, ApiError, Call } from '../shell/api.ts';
import { useShell } from '../shell/context.tsx';
import { isAnswerLost } from '../shell/send-surely.ts';
import { Notice } from './basics.tsx';

export interface ChangeProblem {
  readonly title: string;
  readonly message: string;
}

export function useChange(whenDone: () => void) {
  const { api, announce } = useShell();
  const [problem, setProblem] = useState<ChangeProblem | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  /** @returns whether it was done. */
  const runOf = async (send: (api: Api) => Promise<unknown>, words: string): Promise<boolean> => {
    if (isSending) return false;
    setSending(true);
    setProblem(undefined);
    try {
      await send(api);
      announce(words);
      whenDone();
      return true;
    } catch (error) {
      const title = isAnswerLost(error) ? 'The change may not have been saved' : 'The change was not saved';
      setProblem({ title, message: (error as ApiError).message });
      announce(`${title}.`);
      return false;
    } finally {
      setSending(false);
    }
  };
  return {
    problem,
    isSending,
    runOf,
    /** One call. @returns whether it was done. */
    run: (path: string, method: NonNullable<Call['method']>, body: unknown, words: string) =>
      runOf((asked) => asked.call(path, { method, body }), words),
  };
}

export function NotDone({ problem }: { readonly problem: ChangeProblem | undefined }) {
  if (problem === undefined) return null;
  return (
    <Notice tone="bad" title={problem.title}>
      <p>{problem.message}</p>
    </Notice>
  );
}
