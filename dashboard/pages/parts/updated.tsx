// How old is what is shown? Said in words, with a button to ask again; what is there stays until the next answer.

import { useNow } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import { Button } from './basics.tsx';

interface UpdatedProps {
  /** Unix milliseconds of the server's clock; undefined: nothing has come yet. */
  readonly atMs: number | undefined;
  readonly onRefresh: () => void;
}

export function Updated({ atMs, onRefresh }: UpdatedProps) {
  const { formats } = useShell();
  const nowMs = useNow(5_000);
  return (
    <span class="updated faint small">
      {atMs !== undefined && `Updated ${formats.ago(new Date(atMs).toISOString(), Math.max(atMs, nowMs))}`}
      <Button look="quiet" onClick={onRefresh}>
        Refresh
      </Button>
    </span>
  );
}
