// Under which names does the Secret of an ApiKey hold the key, and what rotation needs?

/** Data key of the key itself, where its ApiKey names no other. */
export const DEFAULT_DATA_KEY = 'apiKey';
/** Data keys beside the key itself. */
export const PREVIOUS_KEY = 'previousApiKey';
/** Here the next key waits until every gateway knows it. Only for the operator: a caller that used it now would be refused. */
export const NEXT_KEY = 'nextApiKey';
/** Where the key can be used. */
export const BASE_URL_KEY = 'baseURL';

/** What must outlive a lost status. No user can ask for these: names that begin with `penstock.dev/` are refused. */
export const SECRET_NOTES = {
  /** Since when the present key is the key; RFC 3339. */
  issuedAt: 'penstock.dev/issued-at',
  /** Number of the present key; the one before it has the number before. */
  version: 'penstock.dev/key-version',
  /** The `spec.rotation.trigger` that was acted on last; absent: none. */
  trigger: 'penstock.dev/rotation-trigger',
  /** Until when the previous key works; RFC 3339. */
  previousNotAfter: 'penstock.dev/previous-not-after',
  /** Names of the labels and annotations that stand there because the spec asks for them. */
  fromSpec: 'penstock.dev/from-spec',
} as const;
