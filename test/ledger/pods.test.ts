// Which pods are asked for their journals, and with which token? Seen on a real API server.

import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { mergePatch } from '../../core/kube/patch.ts';
import { objectPath, secrets } from '../../core/kube/paths.ts';
import type { JournalPod } from '../../ledger/ask-journal.ts';
import { type PodWatch, readJournalPod, watchPods } from '../../ledger/pods.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { createGatewayPod } from '../cluster/gateway-pods.ts';
import { tableOf } from '../gateway/rig.ts';
import { exchangeToken, publish } from '../gateway/table/published.ts';
import { makeTableNamespace } from '../gateway/table/table-namespace.ts';
import { until } from '../support/until.ts';

const plane = useControlPlane({ hasControllers: false });
const labels = { 'app.kubernetes.io/component': 'gateway' };
let watch: PodWatch | undefined;
afterEach(() => watch?.close());

test('a pod is asked from its first address until its deletion, ready or not; the token is that of the pointer', async () => {
  const place = await makeTableNamespace(plane().client);
  const { namespace } = place.pointer;
  const reported: (readonly JournalPod[])[] = [];
  const first = await createGatewayPod(plane(), { namespace, name: 'one', labels, internalPort: 4001 });
  await createGatewayPod(plane(), { namespace, name: 'other', labels: { app: 'x' }, internalPort: 1 });
  watch = watchPods({
    client: plane().client,
    clock: systemClock,
    random: () => 0,
    instance: 'penstock',
    namespace,
    tableNamespace: namespace,
    gatewaySelector: 'app.kubernetes.io/component=gateway',
    onPods: (pods) => reported.push(pods),
    onTrouble() {},
  });
  await until(async () => watch?.hasSynced() === true);
  expect([reported.at(-1), watch.token()]).toEqual([[], undefined]);
  await place.put(publish(tableOf([])));
  await until(async () => watch?.token() === exchangeToken);

  await first.setReady(false);
  await until(async () => reported.at(-1)?.length === 1);
  expect(watch.readyPods()).toEqual([]);
  await first.setReady(true);
  await until(async () => watch?.readyPods().length === 1);
  expect(reported.at(-1)).toEqual([{ uid: expect.any(String), name: 'one', ip: first.ip, port: 4001 }]);
  // On its way out: what it writes last is wanted too.
  expect(watch.endingPods()).toEqual([]);
  const before = reported.length;
  await first.startDeletion();
  await until(async () => reported.length > before);
  expect(reported.at(-1)).toHaveLength(1);
  expect(watch.readyPods()).toEqual([]);
  expect(watch.endingPods()).toEqual(reported.at(-1));
  await first.remove();
  await until(async () => reported.at(-1)?.length === 0);

  const data = { exchangeToken: Buffer.from('n'.repeat(43)).toString('base64') };
  await mergePatch(plane().client, objectPath(secrets, place.pointer), { data });
  await until(async () => watch?.token() === 'n'.repeat(43));
});

test('a pod without an address or our port, or whose containers have ended, has no journal', () => {
  const pod = (status: object, containerPort: unknown = 9091) => ({
    metadata: { name: 'g', uid: 'u' },
    spec: { containers: [{ ports: [{ name: 'internal', containerPort }] }] },
    status,
  });
  expect(readJournalPod(pod({ podIP: '10.0.0.1' }))).toEqual({
    uid: 'u',
    name: 'g',
    ip: '10.0.0.1',
    port: 9091,
  });
  for (const odd of [
    pod({}),
    pod({ podIP: '10.0.0.1', phase: 'Succeeded' }),
    pod({ podIP: '10.0.0.1', phase: 'Failed' }),
    pod({ podIP: '10.0.0.1' }, 'x'),
    { metadata: { name: 'g' }, spec: {}, status: {} },
  ])
    expect(readJournalPod(odd)).toBeUndefined();
});
