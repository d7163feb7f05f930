// What happened when a client did its errand on one upstream dialect?

import type { Upstream } from '../../conformance/every-upstream.ts';
import { type NpmProgram, npmProgram } from '../../support/npm-program.ts';
import type { Errand, Facts } from './inside.ts';
import { runSandboxed } from './sandbox.ts';
import { type ClientFixture, scrubRequest } from './scrub.ts';

/** Lets the real client do one turn with a tool call and a follow-up, where nothing but loopback can be reached. */
export async function runErrand(
  client: Errand['client'],
  fetched: NpmProgram,
  upstream: Upstream,
  more: Pick<Errand, 'knownModel' | 'isBroken'> = {},
): Promise<Facts> {
  const errand: Errand = { client, binary: await npmProgram(fetched), upstream, ...more };
  return (await runSandboxed('test/e2e/clients/inside.ts', errand)) as Facts;
}

/** What the client sent, as fixtures. */
export function fixturesOf(
  client: Errand['client'],
  { version }: NpmProgram,
  { requests, places }: Facts,
): ClientFixture[] {
  return requests.map((request) => scrubRequest(request, { client, version }, places));
}
