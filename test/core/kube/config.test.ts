// A kubeconfig opens a connection with whatever credentials it names, and none of them shows up in an error.

import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { systemClock } from '../../../core/clock.ts';
import type { KubeClient } from '../../../core/kube/client.ts';
import { openConfiguredClient } from '../../../core/kube/config.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { json, startFaultServer } from './fault-server.ts';
import { useEnds } from './real-client.ts';

const plane = useControlPlane({ hasControllers: false });
const onEnd = useEnds();

async function writeConfig(name: string, user: object, cluster?: object): Promise<string> {
  const path = join(plane().folder, `${name}.kubeconfig`);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'c', cluster: cluster ?? { server: plane().url, 'certificate-authority': plane().caFile } },
    ],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'team-a' } }],
    'current-context': 'x',
  };
  await writeFile(path, stringify(config), { mode: 0o600 });
  return path;
}

async function open(kubeconfig: string, clock = systemClock) {
  const opened = await openConfiguredClient({ kubeconfig, clock });
  onEnd(() => opened.client.close());
  return opened;
}

const whoSchema = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });

async function whoAmI(client: KubeClient): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  return whoSchema.parse(await client.call({ method: 'POST', path, body })).status.userInfo.username;
}

/** A plugin that writes down that it ran, and prints this. */
async function writePlugin(name: string, prints: string): Promise<{ user: object; runs(): Promise<number> }> {
  const command = join(plane().folder, name);
  const log = `${command}.log`;
  await writeFile(log, '');
  await writeFile(`${command}.out`, prints);
  await writeFile(command, `#!/bin/sh\necho run >> '${log}'\ncat '${command}.out'\n`);
  await chmod(command, 0o755);
  return {
    user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' } },
    runs: async () => (await readFile(log, 'utf8')).split('\n').length - 1,
  };
}

describe('a kubeconfig', () => {
  test('with a token and a namespace', async () => {
    const { client, namespace } = await open(await writeConfig('token', { token: plane().adminToken }));
    expect(namespace).toBe('team-a');
    expect(await whoAmI(client)).toBe(await whoAmI((await open(plane().adminKubeconfig)).client));
  });

  test('with a client certificate', async () => {
    const { certFile, keyFile } = await plane().authority.issue('jane-config', '/O=team-a/CN=jane');
    const user = { 'client-certificate': certFile, 'client-key': keyFile };
    expect(await whoAmI((await open(await writeConfig('certificate', user))).client)).toBe('jane');
  });

  test('with a plugin, which runs once for many calls and again after its token has expired', async () => {
    const credential = (expiry: string) =>
      JSON.stringify({ status: { token: plane().adminToken, expirationTimestamp: expiry } });
    const plugin = await writePlugin('lasting', credential('2999-01-01T00:00:00Z'));
    const lasting = await open(await writeConfig('lasting', plugin.user));
    await Promise.all(Array.from({ length: 10 }, () => whoAmI(lasting.client)));
    expect(await plugin.runs()).toBe(1);
    const expired = await writePlugin('expired', credential('2000-01-01T00:00:00Z'));
    let nowMs = 0;
    const { client } = await open(await writeConfig('expired', expired.user), {
      ...systemClock,
      now: () => nowMs,
    });
    await whoAmI(client);
    nowMs += 10_000;
    await whoAmI(client);
    expect(await expired.runs()).toBe(2);
  });

  test('whose plugin prints nonsense gives an error without the printed text', async () => {
    const plugin = await writePlugin('nonsense', '{"status": hunter2');
    const { client } = await open(await writeConfig('nonsense', plugin.user));
    const error: unknown = await whoAmI(client).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 0, reason: 'NoCredentials' });
    expect(error instanceof Error && `${error.stack}${error.cause}`).not.toContain('hunter2');
  });

  test('that was written again is read after its token is refused', async () => {
    let nowMs = 0;
    const clock = { ...systemClock, now: () => nowMs };
    const { client } = await open(await writeConfig('renewed', { token: 'not-a-token' }), clock);
    await expect(whoAmI(client)).rejects.toMatchObject({ status: 401 });
    await writeConfig('renewed', { token: plane().adminToken });
    nowMs += 1_000;
    expect(await whoAmI(client)).toBeTruthy();
  });

  test('of a local proxy without TLS', async () => {
    const server = await startFaultServer(json({ ok: true }));
    onEnd(() => server.close());
    const { client } = await open(await writeConfig('proxy', {}, { server: server.url }));
    expect(await client.call({ method: 'GET', path: '/api' })).toEqual({ ok: true });
  });

  test('does not trust a server without a signature of its authority', async () => {
    const { client } = await open(await writeConfig('untrusted', {}, { server: plane().url }));
    await expect(whoAmI(client)).rejects.toMatchObject({ status: 0, reason: 'Unreachable' });
  });

  test('without a server, or with a proxy, is refused with the remedy', async () => {
    await expect(open(await writeConfig('nowhere', {}, { server: '' }))).rejects.toThrow(/current-context/);
    const proxied = { server: plane().url, 'proxy-url': 'http://127.0.0.1:1' };
    await expect(open(await writeConfig('proxied', {}, proxied))).rejects.toThrow(/proxy-url/);
  });
});
