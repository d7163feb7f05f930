// Reports of the publisher that the operator logs or counts.

import type { ShardProblem } from './table-store.ts';

/** What the operator logs and counts. No message holds a secret. */
export type PublishReport =
  /** Found while taking over; the table starts again. */
  | { readonly type: 'pointer-unreadable'; readonly message: string }
  /** The pointer had been deleted by hand. */
  | { readonly type: 'pointer-recreated'; readonly message: string }
  /** Found while taking over; the next publish makes it again. */
  | ({ readonly type: 'shard-unreadable' } & ShardProblem)
  /** A Secret of its name held something else. */
  | { readonly type: 'shard-replaced'; readonly name: string; readonly message: string }
  /** Compile again with `isAccepted`, and publish that with `acceptsAbsence`. */
  | { readonly type: 'absence-accepted'; readonly message: string }
  /** Compile again without the keys in `release`, and publish that with `releases`. */
  | { readonly type: 'release-asked'; readonly message: string }
  /** Its keys are not refused to other namespaces any more. */
  | { readonly type: 'retired-unreadable'; readonly message: string }
  /** The pin annotation was set or removed: publish again. */
  | { readonly type: 'pin-changed'; readonly message: string }
  /** There will be no way back to this generation. */
  | { readonly type: 'manifest-not-kept'; readonly message: string };
