// Which namespaces are there, and which labels do they have?

import { namespaces } from '../../core/kube/paths.ts';
import { sameTexts } from './metadata-texts.ts';
import type { Readings, Watched } from './readings.ts';
import type { NamespaceRecord } from './snapshot.ts';
import type { Urgency } from './urgency.ts';

/** @returns what they are now, by name. */
export function watchNamespaces(
  readings: Readings,
  tenantNamespaces: readonly string[],
  onChange: (urgency: Urgency) => void,
): ReadonlyMap<string, NamespaceRecord> {
  const records = new Map<string, NamespaceRecord>();
  const watched: Watched<NamespaceRecord> = {
    name: 'Namespace',
    resource: namespaces,
    metadataOnly: true,
    convert: ({ metadata: { name, labels = {} } }) => ({ name, labels }),
    onEvent({ type, key, object }) {
      const before = records.get(key);
      if (type === 'deleted') records.delete(key);
      else if (sameTexts(before?.labels, object.labels) && before !== undefined) return;
      else records.set(key, object);
      // A label can be what a grant hung on.
      onChange(before === undefined ? 'edit' : 'revocation');
    },
  };
  if (tenantNamespaces.length === 0) readings.start(watched, undefined);
  // By name, so that a right on these names is enough.
  for (const name of tenantNamespaces) {
    readings.start({ ...watched, fieldSelector: `metadata.name=${name}` }, undefined);
  }
  return records;
}
