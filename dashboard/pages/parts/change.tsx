// How is something changed by one click? Sent, told to who listens, and asked for anew; a refusal stays to be read.

import { useState } from 'preact/hooks';
import type { Api, ApiError, Call } from '../shell/api.ts';
import { useShell } from '../shell/context.tsx';

export function useChange(whenDone: () => void) {
  const { api, announce } = useShell();
  const [problem, setProblem] = useState<string | undefined>(undefined);
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
      setProblem((error as ApiError).message);
      announce('That was not done.');
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
