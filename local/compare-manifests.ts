// What did an edit change? The objects added, changed and removed, each in a few words for the terminal.

import { isRecord } from '../core/kube/object.ts';
import { type Manifests, objectId } from './manifests.ts';

export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export const noChanges: Changes = { added: [], changed: [], removed: [] };

interface Described {
  readonly words: string;
  /** Equal for two that say the same. */
  readonly content: string;
}

/** @param keyPlaceOf The file of an ApiKey's issued key, by `namespace/name`; undefined if its key is in no file of ours. */
export function compareManifests(
  before: Manifests,
  after: Manifests,
  keyPlaceOf: (apiKey: string) => string | undefined,
): Changes {
  const [old, now] = [describeAll(before), describeAll(after)];
  return {
    added: [...now]
      .filter(([id]) => !old.has(id))
      .map(([id, { words }]) => words + describeKey(id, keyPlaceOf)),
    changed: [...now]
      .filter(([id, { content }]) => (old.get(id)?.content ?? content) !== content)
      .map(([, { words }]) => words),
    removed: [...old].filter(([id]) => !now.has(id)).map(([, { words }]) => words),
  };
}

function describeAll(manifests: Manifests): ReadonlyMap<string, Described> {
  const all = new Map<string, Described>();
  const add = (kind: string, namespace: string, name: string, content: unknown): void => {
    const id = objectId(kind, namespace, name);
    const model = kind === 'ModelRoute' && isRecord(content) ? content.model : undefined;
    const words = typeof model === 'string' ? `${id} (${model})` : id;
    all.set(id, { words, content: JSON.stringify(content) ?? '' });
  };
  for (const { metadata, spec } of manifests.providers)
    add('Provider', metadata.namespace, metadata.name, spec);
  for (const { metadata, spec } of manifests.modelRoutes)
    add('ModelRoute', metadata.namespace, metadata.name, spec);
  for (const { metadata, spec } of manifests.apiKeys) add('ApiKey', metadata.namespace, metadata.name, spec);
  for (const { metadata, spec } of manifests.policies) add('TenantPolicy', '', metadata.name, spec);
  for (const { namespace, name, ...rest } of manifests.secrets) add('Secret', namespace, name, rest);
  for (const { namespace, name, ...rest } of manifests.configMaps) add('ConfigMap', namespace, name, rest);
  return all;
}

function describeKey(id: string, keyPlaceOf: (apiKey: string) => string | undefined): string {
  const [kind, apiKey = ''] = id.split(' ');
  const place = kind === 'ApiKey' ? keyPlaceOf(apiKey) : undefined;
  return place === undefined ? '' : ` (its key: ${place})`;
}

const shownMax = 4;

/** ` Added ModelRoute default/slow (penstock/slow).`, with a blank before; empty if nothing changed. */
export function describeChanges({ added, changed, removed }: Changes): string {
  return [['Added', added] as const, ['Changed', changed] as const, ['Removed', removed] as const]
    .filter(([, words]) => words.length > 0)
    .map(([verb, words]) => {
      const more = words.length > shownMax ? ` and ${words.length - shownMax} more` : '';
      return ` ${verb} ${words.slice(0, shownMax).join(', ')}${more}.`;
    })
    .join('');
}
