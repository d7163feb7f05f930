// Who writes the certificates, and what happens where that fails? On the Secrets of a real API server.

import { expect, onTestFinished, test } from 'vitest';
import { authoritySecretName, ledgerSecretName } from '../../../core/contract/internal-tls.ts';
import type { KubeObject } from '../../../core/kube/object.ts';
import { readObject } from '../../../core/kube/patch.ts';
import { objectPath, secrets } from '../../../core/kube/paths.ts';
import { type CertificateKeeper, keepCertificates } from '../../../operator/certificates/keeper.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { apply } from '../../cluster/objects.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { makeNamespace } from '../publish/table-support.ts';

const plane = useControlPlane({ hasControllers: false });
const names = [authoritySecretName('penstock'), ledgerSecretName('penstock')] as const;

interface Scene {
  readonly namespace: string;
  readonly clock: FakeClock;
  readonly said: readonly string[];
  read(name: string): Promise<KubeObject>;
  keep(): Promise<CertificateKeeper>;
}

async function makeScene(...existing: readonly string[]): Promise<Scene> {
  const { client } = plane();
  const namespace = await makeNamespace(client);
  for (const name of existing)
    await apply(client, { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { namespace, name } });
  const clock = makeFakeClock(Date.now());
  const said: string[] = [];
  return {
    namespace,
    clock,
    said,
    read: (name) => readObject(client, objectPath(secrets, { namespace, name })),
    async keep() {
      const keeper = keepCertificates({
        client,
        clock,
        instance: 'penstock',
        hasLedger: true,
        namespace,
        log: (level, _, more) => void said.push(`${level} ${JSON.stringify(more)}`),
      });
      onTestFinished(() => keeper.close());
      await keeper.looked;
      return keeper;
    },
  };
}

test('empty Secrets are filled, and the next leader uses them', async () => {
  const scene = await makeScene(...names);
  const first = await scene.keep();
  const written = await Promise.all(names.map(scene.read));
  expect(Object.keys(written[0]?.data as object).sort()).toEqual([
    ...['ca.crt', 'gateway.crt', 'gateway.key', 'tls.crt', 'tls.key'],
  ]);
  expect(Object.keys(written[1]?.data as object).sort()).toEqual(['tls.crt', 'tls.key']);
  const next = await scene.keep();
  expect(next.forGateways()).toEqual(first.forGateways());
  expect(next.isFailing()).toBe(false);
  expect((await Promise.all(names.map(scene.read))).map(({ metadata }) => metadata.resourceVersion)).toEqual(
    written.map(({ metadata }) => metadata.resourceVersion),
  );
  expect(scene.said).toEqual(['info {"made":["authority","gateway","ledger"]}']);
});

test('a missing Secret is named in one log line, and no certificate is used', async () => {
  const scene = await makeScene(ledgerSecretName('penstock'));
  const keeper = await scene.keep();
  expect(keeper.forGateways()).toBeUndefined();
  expect(keeper.isFailing()).toBe(true);
  expect(scene.said).toEqual([
    expect.stringMatching(/^error .*secrets \\"penstock-internal-ca\\" not found/),
  ]);
});

test('an authority that was removed by hand is replaced, and no longer trusted', async () => {
  const scene = await makeScene(...names);
  const before = (await scene.keep()).forGateways();
  await plane().mustKubectl([
    ...['patch', 'secret', names[0], '-n', scene.namespace, '--type=json'],
    '-p=[{"op":"remove","path":"/data"}]',
  ]);
  const after = (await scene.keep()).forGateways();
  expect(after?.trusted).not.toContain(before?.trusted ?? '-');
  expect(after?.certificate).not.toBe(before?.certificate);
});
