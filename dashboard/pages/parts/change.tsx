// How is something changed by one click? Sent, told to who listens, and asked for anew; a refusal stays to be read.

import { useState } from 'preact/hooks';
import type { ApiError, Call } from '../shell/api.ts';
import { useShell } from '../shell/context.tsx';

export function useChange(whenDone: () => void) {
  const { api, announce } = useShell();
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  return {
    problem,
    isSending,
    /** @returns whether it was done. */
    async run(
      path: string,
      method: NonNullable<Call['method']>,
      body: unknown,
      words: string,
    ): Promise<boolean> {
      if (isSending) return false;
      setSending(true);
      setProblem(undefined);
      try {
        await api.call(path, { method, body });
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
    },
  };
}
