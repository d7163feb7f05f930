// With what do values begin that the gateway itself made and gave to a client, to get them back?

/** Start of a packed provider state, see dialects/state/opaque.ts. */
export const opaquePrefix = 'penstock.1.';

/** Start of the id of a reasoning item without an id of its upstream. */
export const mintedReasoningPrefix = 'rs_penstock_';

/** json-scan.c has room for two, of 8 to 16 letters. */
export const ownBeginnings = [opaquePrefix, mintedReasoningPrefix] as const;
