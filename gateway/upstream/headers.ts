// Seat: how do the headers of a request differ because of the way it travels? Asked once for each attempt, before the request is signed.
// What the Provider sets goes as it is.

import type { UpstreamAsk } from './address.ts';

/** @param headers Of the client and of its dialect: names in lower case and values in turn. */
export type HeadersFor = (ask: UpstreamAsk, headers: readonly string[]) => readonly string[];
