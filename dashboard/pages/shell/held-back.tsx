// Are changes applied? In local mode one wrong file holds all of them back, and disabled or deleted keys keep working.

import { useEffect } from 'preact/hooks';
import type { SessionAnswer } from '../../api-types.ts';
import { Notice } from '../parts/basics.tsx';
import type { Api } from './api.ts';
import { useAsked } from './asking.tsx';

interface HeldBackProps {
  readonly session: SessionAnswer;
  readonly api: Api;
  /** Asked again with each view. */
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
    <Notice tone="bad" title="Changes are not applied: the manifests have errors">
      <ul class="plain-list">
        {heldBack.slice(0, shownMax).map((line) => (
          <li key={line}>{line}</li>
        ))}
        {more > 0 && <li>and {more} more, in the terminal</li>}
      </ul>
      <p>
        The last good manifests stay live until this is fixed. Keys disabled or deleted since then still work.
      </p>
    </Notice>
  );
}
