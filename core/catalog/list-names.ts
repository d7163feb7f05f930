// Under which names does the price catalog list a model of a cloud? A price there depends on the place of the call as well as on the model.

/** Where the calls of a Provider go. */
export interface CallPlace {
  /** Host and port of its address. */
  readonly host: string;
  /** Of its `options`. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface ListName {
  /** As the catalog calls it. */
  readonly vendor: string;
  readonly model: string;
  /** The name of a catalogue entry, which the catalogue's own name rules would not find. */
  readonly isEntry?: true;
  /** The catalog has the price of another place, and this one costs so much more. */
  readonly surchargePercent?: number;
  /** What an hour in the cache costs in prices of input, where the catalog does not say. */
  readonly cacheHourInputs?: number;
}

/** Best first, and the place for which they count, as in `in eu-west-1`; or why there are none, as the end of a sentence. */
export type ListNames =
  | { readonly names: readonly ListName[]; readonly place?: string; readonly why?: undefined }
  | { readonly names?: undefined; readonly why: string };

/** Twice the input, at Anthropic and at the clouds: https://platform.claude.com/docs/en/about-claude/pricing, read in 2026-11. */
export const CLAUDE_CACHE_HOUR = 2;
