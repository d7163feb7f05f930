// How soon is a change to be in a table?

import type { Kind } from '../resources/resource.ts';
import { isRevocation } from './revocation.ts';
import type { RawObject } from './snapshot.ts';

/** `revocation`: it takes access away. `edit`: a person or a pipeline waits for it. `bulk`: one of many, as keys and their Secrets are. */
export type Urgency = 'revocation' | 'edit' | 'bulk';

export function urgencyOf(kind: Kind, before: RawObject | undefined, after: RawObject | undefined): Urgency {
  if (isRevocation(kind, before, after)) return 'revocation';
  return kind === 'ApiKey' ? 'bulk' : 'edit';
}
