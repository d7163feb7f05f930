// The long forms of test/security/: a hundred thousand addresses, ten thousand looks at a name that flips, fifty thousand requests with
// credentials, and what only servers and libraries of others can say.
//
// PENSTOCK_SECURITY_SEED takes another way than the usual one; PENSTOCK_SECURITY_SCALE (default 1) makes all of it so many times longer.

import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { image } from '../../tools/pack/contents.ts';
import { runBoundHosts } from '../security/bound-hosts.ts';
import { runCallerRequests } from '../security/caller-requests.ts';
import { runFlippingName } from '../security/flipping-name.ts';
import { runHostileStreams } from '../security/hostile-streams.ts';
import { runRandomModels } from '../security/random-models.ts';
import { runRetiredKeys } from '../security/retired-keys.ts';
import { runSandboxed } from './clients/sandbox.ts';
import { openScorecard } from './scorecard.ts';
import { runAddresses } from './security/addresses.ts';
import { fronts, runFront } from './security/fronts.ts';
import { runTwoReadings } from './security/two-readings.ts';

const seed = Number(process.env.PENSTOCK_SECURITY_SEED ?? 20_261_122);
const scale = Number(process.env.PENSTOCK_SECURITY_SCALE ?? 1);
const card = openScorecard(`what must never happen, by seed ${seed}`);

afterAll(() => card.print());

/** What the claims so far miss; said once, by the test that misses it. */
const reported = new Set<string>();
function expectHeld(): void {
  const misses = card.misses().filter((miss) => !reported.has(miss));
  for (const miss of misses) reported.add(miss);
  expect(misses).toEqual([]);
}

/** Some of what went wrong, where anything did. */
function examples(wrong: readonly string[]): { readonly figures?: string } {
  return wrong.length === 0 ? {} : { figures: wrong.slice(0, 3).join(', ') };
}

test('no spelling of an internal address is dialled, and no library reads an internal address as public', async () => {
  const run = await runAddresses(100_000 * scale, seed);
  card.add({
    what: 'spellings of addresses, each with a connection: internal ones reached',
    tried: run.tried,
    failed: run.reached + run.dialled.length,
    fired: Math.min(run.forbidden, run.dialledOutside),
    figures: `${run.forbidden} internal ones; ${run.dialledOutside} of all others dialled${run.dialled
      .map((one) => `; ${one}`)
      .slice(0, 3)
      .join('')}`,
  });
  card.add({
    what: 'addresses that Python calls internal: let through',
    tried: run.tried,
    failed: run.disputed.length,
    fired: run.internalElsewhere,
    ...examples(run.disputed),
  });
  expectHeld();
});

test('a name that alternates between public and internal addresses never leads to an internal one', async () => {
  const run = await runFlippingName(10_000 * scale);
  card.add({
    what: 'requests to a name that leads inside at every second look: that reached it',
    tried: run.asked,
    failed: run.reached,
    fired: run.ledInside,
    figures: `${run.answered} answered by the open server, ${run.refused} refused`,
  });
  expectHeld();
});

test('the bytes of a credential go to the hosts of its Secret alone', async () => {
  const run = await runBoundHosts(50_000 * scale, seed);
  card.add({
    what: 'pairs of a table and a request: credentials that went elsewhere',
    tried: run.requests,
    failed: run.strayed.length,
    fired: run.carried,
    figures: `${run.sent} sent, ${run.proxied} through proxies, ${run.counted} to count tokens, ${run.checked} health checks, ${run.inTheClear} over plain http, ${run.own} to providers of the caller's own`,
  });
  card.add({
    what: 'of what would go out: without a credential in it that could be seen',
    tried: run.sent + run.checked,
    failed: run.sent + run.checked - run.carried,
  });
  expectHeld();
});

test('the events of an upstream stay within its own answer', () => {
  const runs = 60_000 * scale;
  const run = runHostileStreams(runs, seed);
  card.add({
    what: 'hostile streams: that broke out of the grammar, or counted what cannot be billed',
    tried: 4 * runs,
    failed: run.broken.length,
    fired: run.refused,
    ...examples(run.broken),
  });
  expectHeld();
});

test('headers and queries are not passed on, in both directions', async () => {
  const run = await runCallerRequests(10_000 * scale, seed);
  card.add({
    what: 'requests with headers of every kind: that brought more through than their dialect has',
    tried: run.asked,
    failed: run.strays.length,
    fired: run.received,
    ...examples(run.strays),
  });
  expectHeld();
});

test('a key that a tenant has revoked works for no other tenant with its digest', async () => {
  const run = await runRetiredKeys(1_000 * scale, 60, seed);
  card.add({
    what: 'tables after ApiKeys were changed by three namespaces: a revoked key that worked for another one',
    tried: run.tables,
    failed: run.strayed.length,
    fired: run.coveted,
    figures: `${run.coveted} keys revoked while another namespace had imported them, ${run.returned} back for their own${run.strayed.length === 0 ? '' : `; ${run.strayed.slice(0, 3).join(', ')}`}`,
  });
  expectHeld();
});

test('unknown models leave no trace in metrics', async () => {
  const run = await runRandomModels(100_000 * scale, seed);
  card.add({
    what: 'requests for random models: series that they made',
    tried: run.asked,
    failed: Math.abs(run.seriesAfter - run.seriesBefore) + (run.isNameShown ? 1 : 0),
    figures: `${run.seriesAfter} series before and after`,
  });
  expectHeld();
});

test('no reader finds another model in a body than the gateway did', async () => {
  const run = await runTwoReadings(10_000 * scale, seed);
  card.add({
    what: 'bodies with members twice: in which another parser reads another model',
    tried: run.sent,
    failed: run.disputed.length,
    fired: run.passed,
    ...examples(run.disputed),
  });
  card.add({ what: 'numbers in flight: changed', tried: run.passed, failed: run.changedNumbers });
  expectHeld();
});

test.each(fronts)('behind %s the gateway reads each forwarded request as one request', async (front) => {
  const run = await runFront(front, 3);
  card.add({
    what: `requests through ${front}: hidden in others, or answered with what was another's`,
    tried: run.sent,
    failed: run.unmarked + run.confused,
    fired: run.seen,
    figures: `${run.seen} reached the gateway`,
  });
  expectHeld();
});

test('dead names delay neither healthy ones nor the writing of the journal', async () => {
  const script = fileURLToPath(new URL('security/dead-names.ts', import.meta.url));
  const input = { names: 50, rounds: 4, threads: Number(image.config.Env.UV_THREADPOOL_SIZE) };
  const times = z.array(z.number());
  const run = z
    .object({ unanswered: z.number(), healthyMs: times, writesMs: times })
    .parse(await runSandboxed(script, input));
  const worst = (of: readonly number[]) => Math.max(...of);
  // A dead name takes a second there.
  for (const [what, tookMs] of [
    ['lookups of healthy names beside 50 dead ones: late by half a second', run.healthyMs],
    ['writes beside 50 dead names: late by half a second', run.writesMs],
  ] as const) {
    card.add({
      what,
      tried: tookMs.length,
      failed: tookMs.filter((ms) => ms >= 500).length,
      fired: run.unanswered,
      figures: `${worst(tookMs)} ms at most`,
    });
  }
  expectHeld();
});
