// How do Secrets come into the index? One watch of the metadata of all, and one of the values for each view.

import { INSTANCE_LABEL } from '../../core/contract/manifest.ts';
import { secrets } from '../../core/kube/paths.ts';
import type { Deletions } from './deletions.ts';
import type { Readings, WatchName } from './readings.ts';
import {
  readPlace,
  readSecret,
  SECRET_SELECTORS,
  type SecretChange,
  type SecretIndex,
  type SecretView,
} from './secrets.ts';

interface Parts {
  readonly readings: Readings;
  readonly deletions: Deletions;
  readonly index: SecretIndex;
  readonly instance: string;
  onChange(change: SecretChange): void;
}

const views = [
  ['CredentialSecret', 'credentials'],
  ['IssuedSecret', 'issued'],
] as const satisfies readonly (readonly [WatchName, SecretView])[];

export function watchSecrets(parts: Parts): void {
  watchPlaces(parts);
  for (const [name, view] of views) watchValues(parts, name, view);
}

function watchPlaces({ readings, deletions, index, instance, onChange }: Parts): void {
  readings.startForTenants({
    name: 'Secret',
    resource: secrets,
    // Our own table is nothing to look at: each shard that is written would be a reason to compile everything.
    labelSelector: `${INSTANCE_LABEL}!=${instance}`,
    metadataOnly: true,
    convert: readPlace,
    onEvent(event) {
      const { key, object } = event;
      if (event.type === 'upserted') {
        deletions.back('Secret', key);
        onChange(index.placed(key, object));
        return;
      }
      // Only the deletion of a Secret with our labels is recorded; no other is ever looked up.
      if (event.cause === 'seen' && object.view !== undefined) deletions.seen('Secret', key);
      onChange(index.displaced(key));
    },
  });
}

function watchValues({ readings, index, onChange }: Parts, name: WatchName, view: SecretView): void {
  readings.startForTenants({
    name,
    resource: secrets,
    labelSelector: SECRET_SELECTORS[view],
    convert: (object) => ({
      record: readSecret(object),
      resourceVersion: object.metadata.resourceVersion,
    }),
    onEvent({ type, key, object: { record, resourceVersion } }) {
      onChange(
        type === 'upserted' ? index.valued(view, key, record, resourceVersion) : index.unvalued(view, key),
      );
    },
  });
}
