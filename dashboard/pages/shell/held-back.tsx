// Are changes taken at all? On a laptop, one file that is wrong keeps all of them back, and what was disabled or deleted goes on working.

import { useEffect } from 'preact/hooks';
import type { SessionAnswer } from '../../api-types.ts';
import { Notice } from '../parts/basics.tsx';
import type { Api } from './api.ts';
import { useAsked } from './asking.tsx';

interface HeldBackProps {
  readonly session: SessionAnswer;
  readonly api: Api;
  /** Asked anew with each view. */
  readonly path: string;
}

const lookAgainMs = 3_000;
const shownMax = 5;

export function HeldBack({ session, api, path }: HeldBackProps) {
  const isLocal = session.mode === 'local';
  const { answer = session, again } = useAsked(
    isLocal ? `held back ${path}` : undefined,
    (signal) => api.call<SessionAnswer>('session', { signal }),
    'held back',
  );
  useEffect(() => {
    if (!isLocal) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again();
    }, lookAgainMs);
    return () => clearInterval(timer);
  }, [isLocal, again]);
  const { heldBack = [] } = answer;
  if (heldBack.length === 0) return null;
  const more = heldBack.length - shownMax;
  return (
    <Notice tone="bad" title="No change is taken: the last good manifests go on serving">
      <ul class="plain-list">
        {heldBack.slice(0, shownMax).map((line) => (
          <li key={line}>{line}</li>
        ))}
        {more > 0 && <li>and {more} more, in the terminal</li>}
      </ul>
      <p>Until this is mended, a key that was disabled or deleted since goes on working.</p>
    </Notice>
  );
}
