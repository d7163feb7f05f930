// May the view be left? If a key would be lost with it, a dialog asks first.

import { useCallback, useLayoutEffect, useState } from 'preact/hooks';
import { Button } from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { useShell } from './context.tsx';
import type { Keeping } from './keeping.ts';

/** Asks before what shows this goes: by a way within the dashboard, by going back, or with the page. */
export function useKept(isNeeded: boolean): void {
  const { keeping } = useShell();
  // Before paint: once the key is visible, leaving must already be guarded.
  useLayoutEffect(() => {
    if (!isNeeded) return;
    const release = keeping.hold();
    const warn = (event: BeforeUnloadEvent) => {
      if (keeping.isHeld()) event.preventDefault();
    };
    addEventListener('beforeunload', warn);
    return () => {
      release();
      removeEventListener('beforeunload', warn);
    };
  }, [isNeeded, keeping]);
}

/** `leave` calls back at once, or after the user agrees in the `question`. */
export function useLeaveGuard(keeping: Keeping) {
  const [leaving, setLeaving] = useState<(() => void) | undefined>(undefined);
  const leave = useCallback(
    (then: () => void) => {
      if (keeping.isHeld()) setLeaving(() => then);
      else then();
    },
    [keeping],
  );
  const stay = () => setLeaving(undefined);
  const question = leaving && (
    <Dialog title="Leave without the key?" onClose={stay}>
      <p>The key is not copied, and is never shown again.</p>
      <div class="row end">
        <Button
          look="danger"
          onClick={() => {
            stay();
            keeping.forget();
            leaving();
          }}
        >
          Leave
        </Button>
        <Button look="main" onClick={stay}>
          Stay
        </Button>
      </div>
    </Dialog>
  );
  return { leave, question };
}
