// What makes an operator use each of its rights, in as few seconds as it takes? Everything that can happen to an installation,
// played by an admin one thing after the other, while an operator that has just started does its work.

import { SHARD_LABEL } from '../../../core/contract/manifest.ts';
import { isRecord } from '../../../core/kube/object.ts';
import { createObject, deleteObject, mergePatch, readObject } from '../../../core/kube/patch.ts';
import { collectionPath, objectPath, secrets } from '../../../core/kube/paths.ts';
import { type Installation, namespace, tableNamespace } from '../../flow/cluster/installation.ts';
import {
  configMap,
  credentialSecret,
  importedApiKey,
  issuedApiKey,
  modelRoute,
  provider,
  tenantPolicy,
} from '../../flow/cluster/manifests.ts';
import { readManifest } from '../../flow/cluster/read-manifest.ts';
import { eventsNow } from '../../flow/cluster/reported.ts';
import { until as untilTrue } from '../../support/until.ts';

const ours = '/apis/penstock.dev/v1alpha1/namespaces/team-a';
const policyPath = '/apis/penstock.dev/v1alpha1/tenantpolicies/team-a';
const credentialPath = '/api/v1/namespaces/team-a/secrets/sim';
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/penstock-operator`;
const shardPath = (name: string) => objectPath(secrets, { namespace: tableNamespace, name });

/** What every life finds. @param authority PEM. */
export async function settle({ apply }: Installation, url: string, authority: string): Promise<void> {
  await apply(
    configMap('team-a', 'internal-ca', { 'ca.crt': authority }),
    credentialSecret('team-a', 'private', 'https://models.example', 'sk-two'),
    provider('team-a', 'private', 'https://models.example', 'private', {
      tls: { caRef: { name: 'internal-ca' } },
    }),
    credentialSecret('team-a', 'sim', url, 'sk-one'),
    provider('team-a', 'sim', url, 'sim'),
    modelRoute('team-a', 'small', ['sim']),
    importedApiKey('team-a', 'imported'),
    tenantPolicy('team-a', {}),
  );
}

/** The next operator leads at once, and has to make the lease and the certificates. */
export async function asAtFirst({ plane }: Installation): Promise<void> {
  await deleteObject(plane.client, leasePath).catch(() => {});
  for (const name of ['penstock-internal-ca', 'penstock-ledger-tls'])
    await mergePatch(plane.client, objectPath(secrets, { namespace, name }), { data: null });
}

/** @param round a number of its own. Ends early where `signal` says so. */
export async function live(
  { apply, plane }: Installation,
  round: number,
  signal: AbortSignal,
): Promise<void> {
  const { client } = plane;
  const turn = { displayName: `turn ${round}` };
  const name = `issued-${round}`;
  await mergePatch(client, `${ours}/providers/sim`, { spec: turn });
  await mergePatch(client, `${ours}/modelroutes/small`, { spec: turn });
  await mergePatch(client, `${ours}/apikeys/imported`, { spec: turn });
  await mergePatch(client, policyPath, { spec: { limits: { requestsPerMinute: 1_000 + round } } });
  await until(async () => {
    const { status, metadata } = await readObject(client, policyPath);
    return isRecord(status) && JSON.stringify(status).includes(`"observedGeneration":${metadata.generation}`);
  }, signal);
  await apply(issuedApiKey('team-a', name));
  const secretPath = `/api/v1/namespaces/team-a/secrets/${name}-key`;
  await until(() => readObject(client, secretPath), signal);
  // Until its first status, a key is new: what is good news in that status has no event.
  await untilKeyIs('Ready');

  await mergePatch(client, `${ours}/apikeys/${name}`, { spec: { secret: { labels: { app: 'ci' } } } });
  await until(async () => (await readObject(client, secretPath)).metadata.labels?.app === 'ci', signal);

  // Switched off twice: an event that comes again is counted up.
  for (const disabled of [true, false, true]) {
    await mergePatch(client, `${ours}/apikeys/${name}`, { spec: { disabled } });
    await untilKeyIs(disabled ? 'Disabled' : 'Ready');
  }
  const ofKey = { kind: 'ApiKey', namespace: 'team-a', name };
  await until(async () => isCounted(await eventsNow(plane, ofKey), 'DisabledBySpec', 2), signal);

  // What concerns the whole table is reported at the pointer, and counted up there too.
  const pointer = { kind: 'Secret', namespace: tableNamespace, name: 'penstock-current' };
  // Each operator that was there before has an Event of its own.
  const reported = async (reason: string) =>
    (await eventsNow(plane, pointer))
      .filter((one) => one.reason === reason)
      .reduce((sum, { count }) => sum + count, 0);
  for (let time = 0; time < 2; time++) {
    for (const [pin, reason] of [
      ['7', 'PinImpossible'],
      [null, 'Unpinned'],
    ] as const) {
      const before = await reported(reason);
      await mergePatch(client, shardPath(pointer.name), {
        metadata: { annotations: { 'penstock.dev/pin': pin } },
      });
      await until(async () => (await reported(reason)) > before, signal);
    }
  }

  // A Secret with the name of a shard that is needed again, and something else in it.
  const first = await credentialShard();
  await mergePatch(client, credentialPath, { stringData: { main: 'sk-other' } });
  await until(async () => (await credentialShard()) !== first, signal);
  await deleteObject(client, shardPath(first));
  const metadata = { namespace: tableNamespace, name: first };
  const bogus = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { shard: 'x' } };
  await createObject(client, collectionPath(secrets, tableNamespace), bogus);
  await mergePatch(client, credentialPath, { stringData: { main: 'sk-one' } });
  await until(async () => (await credentialShard()) === first, signal);
  await until(
    async () => SHARD_LABEL in ((await readObject(client, shardPath(first))).metadata.labels ?? {}),
    signal,
  );

  async function untilKeyIs(condition: string): Promise<void> {
    await until(async () => {
      const { status, metadata } = await readObject(client, `${ours}/apikeys/${name}`);
      return (
        isRecord(status) && status.observedGeneration === metadata.generation && isTrue(status, condition)
      );
    }, signal);
  }

  async function credentialShard(): Promise<string> {
    const { shards } = await readManifest(plane);
    const found = shards.find(({ kind }) => kind === 'credentials');
    if (found === undefined) throw new Error('the table has no credentials');
    return found.name;
  }
}

/** What a life that was broken off has left. */
export async function tidy({ plane }: Installation, round: number): Promise<void> {
  const { client } = plane;
  await mergePatch(client, shardPath('penstock-current'), {
    metadata: { annotations: { 'penstock.dev/pin': null } },
  }).catch(() => {});
  await mergePatch(client, credentialPath, { stringData: { main: 'sk-one' } });
  await deleteObject(client, `${ours}/apikeys/issued-${round}`).catch(() => {});
}

function isTrue(status: Record<string, unknown>, type: string): boolean {
  const { conditions } = status;
  return Array.isArray(conditions) && conditions.some((one) => one.type === type && one.status === 'True');
}

function isCounted(
  events: readonly { readonly reason: string; readonly count: number }[],
  wanted: string,
  times: number,
): boolean {
  return events.some(({ reason, count }) => reason === wanted && count >= times);
}

/**
 * Asks until it is so; what fails is not so yet.
 *
 * @throws once `signal` is aborted, with what was awaited and what the last question brought.
 */
export async function until(isSo: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  let seen: unknown = 'nothing yet';
  await untilTrue(async () => {
    if (signal.aborted) throw new Error(`never so: ${isSo}\nlast seen: ${seen}`, { cause: signal.reason });
    seen = await isSo().catch((error: unknown) => error);
    return seen !== false && !(seen instanceof Error);
  }, 100);
}
