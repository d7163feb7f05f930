// Does a key that one namespace has revoked ever work for another one? Random histories of ApiKeys in three namespaces that all know
// the digests of each other's keys, with operators that end, tables that cannot be written, and keys that the platform releases.

import type { KeyEntry } from '../../core/contract/routing-table.ts';
import { startLeader } from '../operator/leading/leader.ts';
import { apiKey, snapshot } from '../operator/make.ts';
import { createRandom, pick, type Random } from './random.ts';

export interface RetiredKeysRun {
  /** Tables that were published. */
  readonly tables: number;
  /** Times that a key left the table while another namespace claimed it. */
  readonly coveted: number;
  /** Times that a key came back for its namespace. */
  readonly returned: number;
  /** What went wrong, in words. */
  readonly strayed: readonly string[];
}

const digests = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];
const namespaces = ['team-a', 'team-b', 'team-c'] as const;
const names = ['one', 'two'] as const;

interface Claim {
  readonly sha256: string;
  readonly disabled: boolean;
  readonly createdAt: number;
}

export async function runRetiredKeys(
  histories: number,
  steps: number,
  seed: number,
): Promise<RetiredKeysRun> {
  const random = createRandom(seed);
  const run = { tables: 0, coveted: 0, returned: 0, strayed: [] as string[] };
  for (let history = 0; history < histories; history++)
    await playHistory(random, steps, run, `history ${history}`);
  return run;
}

type Counts = { tables: number; coveted: number; returned: number; readonly strayed: string[] };

async function playHistory(random: Random, steps: number, run: Counts, label: string): Promise<void> {
  const claims = new Map<string, Claim>();
  /** The namespace for which each digest worked first, since it was released last. */
  const owners = new Map<string, string>();
  let leader = startLeader(snapshot());
  for (let step = 0; step < steps; step++) {
    const before = holdersIn(leader.tables.at(-1)?.keys ?? []);
    changeClaims(random, claims, step);
    leader.change({ apiKeys: [...claims].map(([place, claim]) => objectOf(place, claim)) });
    if (random(5) === 0) {
      leader = startLeader(leader.state.snapshot, {
        content: leader.tables.at(-1),
        retired: leader.state.retired,
      });
    }
    if (random(6) === 0) {
      leader.state.isShut = true;
      await leader.run().catch(() => undefined);
      leader.state.isShut = false;
    }
    const released = random(12) === 0 ? pick(random, digests) : undefined;
    leader.state.release = released;
    const { content } = await leader.run();
    run.tables += 1;
    const after = holdersIn(content.keys);
    for (const digest of digests) {
      const [was, is] = [before.get(digest), after.get(digest)];
      if (digest === released && is !== owners.get(digest)) owners.delete(digest);
      const claimants = [...claims].filter(([, { sha256 }]) => sha256 === digest);
      if (
        was !== undefined &&
        is === undefined &&
        claimants.some(([place]) => !place.startsWith(`${was}/`))
      ) {
        run.coveted += 1;
      }
      const owner = owners.get(digest);
      if (is !== undefined && owner === undefined) owners.set(digest, is);
      if (is !== undefined && owner !== undefined && is !== owner) {
        run.strayed.push(`${label}, step ${step}: ${digest.slice(0, 4)} of ${owner} works for ${is}`);
      }
      const own = claimants.filter(([place]) => place.startsWith(`${owner}/`));
      if (own.length > 0 && own.every(([, { disabled }]) => !disabled)) {
        if (is !== owner) run.strayed.push(`${label}, step ${step}: ${owner} is refused its own key`);
        else if (was === undefined) run.returned += 1;
      }
    }
  }
}

function changeClaims(random: Random, claims: Map<string, Claim>, step: number): void {
  const place = `${pick(random, namespaces)}/${pick(random, names)}`;
  const known = claims.get(place);
  if (known !== undefined && random(2) === 0) {
    claims.delete(place);
    return;
  }
  const disabled = random(4) === 0;
  // Some are older than all that were there before.
  const createdAt = random(3) === 0 ? -step : step;
  claims.set(
    place,
    known === undefined ? { sha256: pick(random, digests), disabled, createdAt } : { ...known, disabled },
  );
}

function objectOf(place: string, { sha256, disabled, createdAt }: Claim) {
  const [namespace = '', name = ''] = place.split('/');
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1) + createdAt * 60_000).toISOString();
  return apiKey({ imports: [{ sha256 }], disabled }, { namespace, name, creationTimestamp });
}

function holdersIn(keys: readonly KeyEntry[]): ReadonlyMap<string, string> {
  return new Map(keys.map(({ sha256, id }) => [sha256, id.slice(0, id.indexOf('/'))]));
}
