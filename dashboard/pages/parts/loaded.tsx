// Is the object there? Loading, not found, no access, or shown.

import type { ComponentChildren } from 'preact';
import type { ApiError } from '../shell/api.ts';
import { Button, Empty, Notice } from './basics.tsx';

interface Shown<Kind> {
  readonly object: Kind | undefined;
  readonly isDeleted: boolean;
  readonly error: ApiError | undefined;
  readonly again: () => void;
}

interface LoadedProps<Kind> {
  readonly shown: Shown<Kind>;
  /** As in "The key ci-bot is loading". */
  readonly what: string;
  readonly title: string;
  readonly children: (object: Kind) => ComponentChildren;
}

export function Loaded<Kind>({
  shown: { object, isDeleted, error, again },
  what,
  title,
  children,
}: LoadedProps<Kind>) {
  const isGone = isDeleted || error?.status === 404;
  if (object !== undefined && !isGone)
    return (
      <>
        {error !== undefined && (
          <Notice tone="warn" title="Out of date">
            <p>{error.message}</p>
            <Button onClick={again}>Try again</Button>
          </Notice>
        )}
        {children(object)}
      </>
    );
  return (
    <>
      <h1 tabIndex={-1}>{title}</h1>
      {isGone ? (
        <Empty title={isDeleted ? 'Deleted' : 'Not found'}>
          <p>
            {isDeleted ? 'The object was just deleted.' : 'The object was deleted, or the name is wrong.'}
          </p>
        </Empty>
      ) : error === undefined ? (
        <p class="loading" role="status">
          {what}: loading…
        </p>
      ) : (
        <Notice tone="bad" title={`${what} could not be loaded`}>
          <p>{error.message}</p>
          <Button onClick={again}>Try again</Button>
        </Notice>
      )}
    </>
  );
}
