// Plans the writes that publish a content. Pure, from the pointer and the shards in the cluster.

import { MANIFEST_FORMAT, type Manifest } from '../../core/contract/manifest.ts';
import {
  type HealthHint,
  HINTS_MAX,
  neededFormat,
  type TableContent,
} from '../../core/contract/routing-table.ts';
import { canonicalJson } from '../canonical-json.ts';
import type { Published } from './pointer-holder.ts';
import { listRevocations, works } from './revocations.ts';
import type { Shard } from './shards.ts';
import type { Table } from './term.ts';

interface TableFacts {
  /** In the pointer now. */
  readonly published: Published<Table> | undefined;
  /** Names of shards that are in the cluster. */
  readonly present: ReadonlySet<string>;
  readonly content: TableContent;
  /** All of that content. */
  readonly cut: readonly Shard[];
  readonly hints: readonly HealthHint[];
  readonly nowMs: number;
  readonly wallMs: number;
}

export interface TablePlan {
  /** False: this content is in use already. */
  readonly isNew: boolean;
  /** The table before, where it is worth a copy as something to go back to. */
  readonly copied: Published<Table> | undefined;
  /** Some key stops working. */
  readonly takesAway: boolean;
  readonly missing: readonly Shard[];
  readonly manifest: Omit<Manifest, 'epoch' | 'generation'>;
  readonly table: Table;
}

export function planTable(facts: TableFacts): TablePlan {
  const { published, content, cut } = facts;
  const revocations = listRevocations(
    published?.table.content,
    content,
    published?.table.revocations ?? [],
    facts.nowMs,
  );
  const minReader = Math.max(MANIFEST_FORMAT, ...content.providers.map(neededFormat));
  const manifest = {
    format: minReader,
    minReader,
    createdAt: new Date(facts.wallMs).toISOString(),
    revocations: revocations.map(({ digest }) => digest),
    settings: content.settings,
    shards: cut.map(({ ref }) => ref),
    hints: facts.hints.slice(0, HINTS_MAX),
  };
  return {
    isNew:
      published === undefined ||
      !isSaidBy(published.manifest, manifest) ||
      // A key that was taken away ahead of its shard, and is given back before that shard could be written.
      hasRevoked(content, published.manifest.revocations),
    copied: published !== undefined && isWorthACopy(published.manifest, manifest) ? published : undefined,
    takesAway: manifest.revocations.some((digest) => !published?.manifest.revocations.includes(digest)),
    missing: cut.filter(({ ref }) => !facts.present.has(ref.name)),
    manifest,
    table: { content, revocations, shards: new Map(cut.map((shard) => [shard.ref.name, shard])) },
  };
}

/**
 * The table in use without the keys that were revoked: access can be taken away with one object. Undefined where the pointer
 * says so already.
 */
export function planRevocation(
  published: Published<Table> | undefined,
  { manifest, table }: TablePlan,
): Pick<TablePlan, 'manifest' | 'table'> | undefined {
  if (published === undefined) return undefined;
  const known = new Set(published.manifest.revocations);
  if (manifest.revocations.every((digest) => known.has(digest))) return undefined;
  const { format, minReader, settings, shards, hints } = published.manifest;
  return {
    manifest: { ...manifest, format, minReader, settings, shards, hints },
    table: { ...published.table, revocations: table.revocations },
  };
}

function isSaidBy(
  published: Manifest,
  said: Pick<Manifest, 'minReader' | 'settings' | 'shards' | 'hints'>,
): boolean {
  const words = ({ minReader, settings, shards, hints = [] }: typeof said) =>
    canonicalJson({ minReader, settings, shards, hints });
  return words(published) === words(said);
}

/**
 * Whether there is something to go back to behind that. Keys are never taken back to what they were, see `pin-content.ts`; and
 * they and the hints change so often that copies of each would push out those that matter.
 */
function isWorthACopy(published: Manifest, said: Pick<Manifest, 'settings' | 'shards'>): boolean {
  const ofRoutes = ({ settings, shards }: Pick<Manifest, 'settings' | 'shards'>) =>
    canonicalJson({ settings, shards: shards.filter(({ kind }) => kind !== 'keys') });
  return ofRoutes(published) !== ofRoutes(said);
}

function hasRevoked(content: TableContent, revocations: readonly string[]): boolean {
  return revocations.some((digest) => works(digest, content));
}
