// With what do values begin that the gateway itself made and gave to a client, to get them back?

/** Of what a provider wants back exactly as it gave it, see dialects/state/opaque.ts. */
export const opaquePrefix = 'penstock.1.';

/** Of the id of a reasoning item that its upstream gave none. */
export const mintedReasoningPrefix = 'rs_penstock_';

/** json-scan.c has room for two, of 8 to 16 letters. */
export const ownBeginnings = [opaquePrefix, mintedReasoningPrefix] as const;
