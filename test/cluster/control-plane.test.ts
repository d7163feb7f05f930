// Is the Kubernetes of the tests a real one, and does it break and come back as reported?

import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readForbidden } from './audit.ts';
import { type ControlPlane, startControlPlane, useControlPlane } from './control-plane.ts';
import { createGatewayPod } from './gateway-pods.ts';
import { serviceAccountToken, writeKubeconfig, writeServiceAccountFolder } from './identities.ts';
import { installCrds } from './install.ts';
import { apply as applyObject } from './objects.ts';

const plane = useControlPlane();

async function apply(on: ControlPlane, ...objects: readonly object[]): Promise<void> {
  for (const object of objects) await applyObject(on.client, object);
}

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const configMap = (inNamespace: string, name: string, owner?: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: inNamespace, name, ...(owner && { ownerReferences: [owner] }) },
});

describe('a control plane', () => {
  test('serves the version that is pinned', async () => {
    const { gitVersion } = JSON.parse(await plane().mustKubectl(['get', '--raw', '/version']));
    // With programs of its own a machine wants another version.
    expect(gitVersion).toMatch(process.env.KUBEBUILDER_ASSETS ? /^v1\.\d+\.\d+/ : /^v1\.36\.\d+$/);
  });

  test('shows an anonymous caller its health, and nothing else', async () => {
    const ca = await readFile(plane().caFile, 'utf8');
    const [well, rest] = await Promise.all(
      ['/readyz', '/api/v1/namespaces'].map(async (path) => {
        const asking = get(`${plane().url}${path}`, { ca, agent: false });
        const answer = await new Promise<IncomingMessage>((resolve, reject) => {
          asking.once('response', resolve).once('error', reject);
        });
        answer.resume();
        return answer.statusCode;
      }),
    );
    expect({ well, rest }).toEqual({ well: 200, rest: 401 });
  });

  test('has a client of its admin', async () => {
    const answer = await plane().client.call({ method: 'GET', path: '/api/v1/namespaces/default' });
    expect(answer).toMatchObject({ kind: 'Namespace', metadata: { name: 'default' } });
  });

  test('refuses a service account without rights, and its audit log records the refusal', async () => {
    await apply(plane(), namespace('rights'));
    await apply(plane(), {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: 'rights', name: 'nobody' },
    });
    const token = await serviceAccountToken(plane(), 'rights', 'nobody', 600);
    const kubeconfig = await writeKubeconfig(plane(), 'nobody', token);
    const refused = await plane().kubectl(['get', 'secrets', '-n', 'rights'], { kubeconfig });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/forbidden/) });
    const own = (await plane().audit()).filter(({ user }) => user === 'system:serviceaccount:rights:nobody');
    expect(own.filter(({ status }) => status === 403)).toEqual([
      expect.objectContaining({ verb: 'list', resource: 'secrets', namespace: 'rights', status: 403 }),
    ]);
    const forbiddenTo = (name: string) =>
      readForbidden(plane().auditFile, new Set([`system:serviceaccount:rights:${name}`]));
    expect(await forbiddenTo('nobody')).toEqual([
      expect.stringMatching(
        /^list \/api\/v1\/namespaces\/rights\/secrets\S* system:serviceaccount:rights:nobody$/,
      ),
    ]);
    expect(await forbiddenTo('somebody')).toEqual([]);
  });

  test('knows the bearer of a client certificate', async () => {
    const { certFile, keyFile } = await plane().authority.issue('jane', '/O=team-a/CN=jane');
    const said = await plane().mustKubectl(
      [
        'auth',
        'whoami',
        '-o',
        'jsonpath={.status.userInfo.username} {.status.userInfo.groups[0]}',
        `--server=${plane().url}`,
        `--certificate-authority=${plane().caFile}`,
        `--client-certificate=${certFile}`,
        `--client-key=${keyFile}`,
      ],
      { kubeconfig: join(plane().folder, 'none') },
    );
    expect(said).toBe('jane team-a');
  });

  test('deletes owned objects after their owner, and a namespace with all its objects', async () => {
    await apply(plane(), namespace('to-delete'));
    await apply(plane(), configMap('to-delete', 'owner'), configMap('to-delete', 'other'));
    const uid = await plane().mustKubectl([
      'get',
      'configmap',
      'owner',
      '-n',
      'to-delete',
      '-o',
      'jsonpath={.metadata.uid}',
    ]);
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid };
    await apply(plane(), configMap('to-delete', 'owned', owner));
    await plane().mustKubectl(['delete', 'configmap', 'owner', '-n', 'to-delete']);
    await plane().mustKubectl([
      'wait',
      '--for=delete',
      'configmap/owned',
      '-n',
      'to-delete',
      '--timeout=20s',
    ]);
    expect(await plane().mustKubectl(['get', 'configmap', '-n', 'to-delete', '-o', 'name'])).toMatch(/other/);
    await plane().mustKubectl(['delete', 'namespace', 'to-delete', '--timeout=20s']);
    expect(await plane().mustKubectl(['get', 'configmaps', '-A', '-o', 'name'])).not.toMatch(/other/);
  });

  test('deletes the objects that an object of our kinds owns', async () => {
    await installCrds(plane());
    await apply(plane(), namespace('ours'));
    await apply(plane(), {
      apiVersion: 'penstock.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { namespace: 'ours', name: 'key' },
      spec: {},
    });
    const uid = await plane().mustKubectl([
      'get',
      'apikey',
      'key',
      '-n',
      'ours',
      '-o',
      'jsonpath={.metadata.uid}',
    ]);
    const owner = { apiVersion: 'penstock.dev/v1alpha1', kind: 'ApiKey', name: 'key', uid };
    await apply(plane(), configMap('ours', 'owned', owner));
    await plane().mustKubectl(['delete', 'apikey', 'key', '-n', 'ours']);
    await plane().mustKubectl(['wait', '--for=delete', 'configmap/owned', '-n', 'ours', '--timeout=20s']);
  });

  test('gives a process the files that a Pod finds mounted', async () => {
    await apply(plane(), namespace('mounted'));
    await apply(plane(), {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: 'mounted', name: 'gateway' },
    });
    const token = await serviceAccountToken(plane(), 'mounted', 'gateway');
    const folder = await writeServiceAccountFolder(plane(), 'gateway', { token, namespace: 'mounted' });
    expect(readdirSync(folder).sort()).toEqual(['ca.crt', 'namespace', 'token']);
    expect(readFileSync(join(folder, 'token'), 'utf8')).toBe(token);
    const who = await plane().mustKubectl(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'], {
      kubeconfig: await writeKubeconfig(plane(), 'gateway', token),
    });
    expect(who).toBe('system:serviceaccount:mounted:gateway');
  });

  test('has gateway Pods that become ready, are not ready, end slowly, and are gone', async () => {
    await apply(plane(), namespace('pods'));
    const labels = { app: 'gateway' };
    const pods = await Promise.all(
      ['one', 'two'].map((name) =>
        createGatewayPod(plane(), { namespace: 'pods', name, labels, internalPort: 9091 }),
      ),
    );
    const [one, two] = pods;
    if (one === undefined || two === undefined) throw new Error('two Pods were made');
    expect(one.ip).not.toBe(two.ip);
    const readiness = async () =>
      plane().mustKubectl([
        'get',
        'pods',
        '-n',
        'pods',
        '-l',
        'app=gateway',
        '-o',
        'jsonpath={range .items[*]}{.metadata.name}={.status.podIP} {.status.conditions[?(@.type=="Ready")].status} {.spec.containers[0].ports[?(@.name=="internal")].containerPort};{end}',
      ]);
    await one.setReady(true);
    await two.setReady(true);
    expect(await readiness()).toBe(`one=${one.ip} True 9091;two=${two.ip} True 9091;`);
    await two.setReady(false);
    expect(await readiness()).toBe(`one=${one.ip} True 9091;two=${two.ip} False 9091;`);
    await two.startDeletion();
    const deleted = ['get', 'pod', 'two', '-n', 'pods', '-o', 'jsonpath={.metadata.deletionTimestamp}'];
    expect(await plane().mustKubectl(deleted)).toMatch(/^2/);
    await two.remove();
    await one.remove();
    expect(await readiness()).toBe('');
  });
});

describe('a control plane that is broken on purpose', () => {
  const breakable = useControlPlane({ hasControllers: false, apiserverFlags: ['--goaway-chance=0.001'] });

  test('answers nothing while it is frozen, and goes on afterwards', async () => {
    breakable().freeze();
    const asked = await breakable().kubectl(['get', '--raw', '/version', '--request-timeout=1s']);
    expect(asked.code).not.toBe(0);
    expect(asked.stderr).toMatch(/Timeout exceeded|deadline exceeded|TLS handshake timeout/);
    breakable().thaw();
    expect(await breakable().mustKubectl(['get', 'namespaces', '-o', 'name'])).toMatch(/namespace\/default/);
  });

  test('killed and started again it keeps its address, its objects and its tokens', async () => {
    await apply(breakable(), namespace('kept'));
    await apply(breakable(), {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: 'kept', name: 'known' },
    });
    const token = await serviceAccountToken(breakable(), 'kept', 'known');
    const kubeconfig = await writeKubeconfig(breakable(), 'known', token);
    const [before] = breakable().pids();
    await breakable().kill();
    const refused = await breakable().kubectl(['get', 'namespaces']);
    expect(refused.stderr).toMatch(/refused/);
    await breakable().restart();
    expect(breakable().pids()[0]).not.toBe(before);
    expect(await breakable().mustKubectl(['get', 'namespaces', '-o', 'name'])).toMatch(/namespace\/kept/);
    expect((await breakable().kubectl(['auth', 'whoami'], { kubeconfig })).stdout).toMatch(/kept:known/);
  });

  test('sees no object of another suite on the same etcd', async () => {
    await apply(breakable(), namespace('only-here'));
    expect(await plane().mustKubectl(['get', 'namespaces', '-o', 'name'])).not.toMatch(/only-here/);
  });

  test('keeps nothing of the suite that had its API server before', async () => {
    const seen = async (on: ControlPlane) => ({
      namespaces: await on.mustKubectl(['get', 'namespaces', '-o', 'name']),
      kinds: await on.mustKubectl(['api-resources', '-o', 'name']),
      roles: await on.mustKubectl(['get', 'clusterroles', '-o', 'name']),
      labels: await on.mustKubectl(['get', 'namespace', 'default', '-o', 'jsonpath={.metadata.labels}']),
    });
    const first = await startControlPlane({ hasControllers: false });
    const before = await seen(first);
    await installCrds(first);
    await apply(first, namespace('earlier'));
    await apply(first, configMap('earlier', 'some'));
    await first.mustKubectl(['label', 'namespace', 'default', 'of=earlier']);
    await first.mustKubectl(['create', 'clusterrole', 'earlier', '--verb=get', '--resource=pods']);
    expect(await seen(first)).not.toEqual(before);
    await first.stop();
    const second = await startControlPlane({ hasControllers: false });
    expect(second.url).toBe(first.url);
    expect(await seen(second)).toEqual(before);
    expect((await second.audit()).filter(({ uri }) => uri.includes('earlier'))).toEqual([]);
    await apply(second, namespace('earlier'));
    const names = await second.mustKubectl(['get', 'configmaps', '-n', 'earlier', '-o', 'name']);
    expect(names).not.toMatch(/some/);
    await second.stop();
  });

  test('leaves no process behind when it is stopped', async () => {
    const short = await startControlPlane({ hasOwnEtcd: true });
    const pids = short.pids();
    expect(pids).toHaveLength(3);
    short.freeze();
    short.etcd?.freeze();
    await short.stop();
    expect(pids.filter(isAlive)).toEqual([]);
    await expect(readFile(short.adminKubeconfig)).rejects.toThrow(/ENOENT/);
  });

  test('that cannot start says its last words', async () => {
    await expect(startControlPlane({ apiserverFlags: ['--no-such-flag'] })).rejects.toThrow(
      /kube-apiserver ended before it was ready.*unknown flag: --no-such-flag/s,
    );
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
