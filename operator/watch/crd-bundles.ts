// Do the CustomResourceDefinitions of the cluster belong to this operator? They are installed apart from it in many places,
// and an older one prunes fields that this operator acts on without a word.

import type { Clock } from '../../core/clock.ts';
import { type KubeClient, KubeError } from '../../core/kube/client.ts';
import type { Log } from '../../core/kube/log.ts';
import { readObject } from '../../core/kube/patch.ts';
import { objectPath } from '../../core/kube/paths.ts';
import { API_GROUP } from '../resources/metadata.ts';

const crds = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' } as const;
const names = ['providers', 'modelroutes', 'apikeys', 'tenantpolicies'].map(
  (plural) => `${plural}.${API_GROUP}`,
);
const BUNDLE_ANNOTATION = 'penstock.dev/bundle-version';

const againMs = 10 * 60_000;

interface CrdBundles {
  /** For every readable CustomResourceDefinition: whether it is of another release, or missing. */
  mismatches(): Iterable<{ readonly crd: string; readonly isOther: boolean }>;
  close(): void;
}

/** Looks now, and every ten minutes: they may be brought up to date while we run. What differs is said once. */
export function watchCrdBundles(parts: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Release of this operator. */
  readonly version: string;
}): CrdBundles {
  const { client, clock, log, version } = parts;
  /** The last result: a version, or a fixed word; undefined if it could not be read. */
  const found = new Map<string, string | undefined>();
  let cancelTimer = (): void => {};
  let isClosed = false;

  void look();
  return {
    *mismatches() {
      for (const [crd, bundle] of found) if (bundle !== undefined) yield { crd, isOther: bundle !== version };
    },
    close() {
      isClosed = true;
      cancelTimer();
    },
  };

  async function look(): Promise<void> {
    for (const crd of names) {
      const bundle = await read(crd);
      if (isClosed) return;
      if (bundle !== undefined && bundle !== version && bundle !== found.get(crd)) {
        log('warn', whatToDo(bundle, version), { crd, found: bundle, expected: version });
      }
      found.set(crd, bundle);
    }
    cancelTimer = clock.setTimer(againMs, () => void look());
  }

  async function read(crd: string): Promise<string | undefined> {
    try {
      const { metadata } = await readObject(client, objectPath(crds, { name: crd }));
      return metadata.annotations?.[BUNDLE_ANNOTATION] ?? 'none';
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return 'missing';
      if (!isClosed) {
        const reason = error instanceof Error ? error.message : String(error);
        log('warn', 'a CustomResourceDefinition could not be compared with this release', { crd, reason });
      }
      return undefined;
    }
  }
}

/** Newer kinds come first in an upgrade: older ones in their place would undo it. */
function whatToDo(bundle: string, version: string): string {
  if (isNewer(bundle, version))
    return `the CustomResourceDefinition is of ${bundle}, this operator of ${version}; upgrade the operator`;
  return 'a CustomResourceDefinition is not of this release; apply those that came with it';
}

const RELEASE = /^(\d+)\.(\d+)\.(\d+)/;

function isNewer(bundle: string, version: string): boolean {
  const [theirs, ours] = [bundle, version].map((text) => RELEASE.exec(text)?.slice(1).map(Number));
  if (theirs === undefined || ours === undefined) return false;
  const at = theirs.findIndex((number, index) => number !== ours[index]);
  return at !== -1 && (theirs[at] ?? 0) > (ours[at] ?? 0);
}
