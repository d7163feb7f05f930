// Seat: how do the headers of a request differ because of the way it travels? Asked once for each attempt, before the request is signed.

import type { UpstreamAsk } from './address.ts';

/** @param headers Names in lower case and values in turn. */
export type HeadersFor = (ask: UpstreamAsk, headers: readonly string[]) => string[];
