// One of several processes leads, on a real API server; another takes over, and never two at once.

import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../core/clock.ts';
import type { KubeClient } from '../../../core/kube/client.ts';
import { openConnection } from '../../../core/kube/connection.ts';
import { type Election, type ElectionOptions, startElection } from '../../../core/kube/lease.ts';
import { deleteObject, readObject } from '../../../core/kube/patch.ts';
import { leases, objectPath } from '../../../core/kube/paths.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';
import { type Answer, json, refusal, silence, startFaultServer } from './fault-server.ts';
import { openAdmin, useEnds } from './real-client.ts';

const plane = useControlPlane({ hasControllers: false });
const onEnd = useEnds();

const short = { leaseMs: 2_000, renewMs: 1_200, retryMs: 300 };
const leaseSchema = z.object({
  metadata: z.object({ uid: z.string() }),
  spec: z.object({
    holderIdentity: z.string(),
    leaseDurationSeconds: z.number(),
    leaseTransitions: z.number(),
    renewTime: z.string(),
    acquireTime: z.string(),
  }),
});

/** Candidates for one lease; what happens to them is written down in its order, two leaders at once as well. */
function useCandidates(name: string, times: Partial<ElectionOptions> = short) {
  const elections = new Map<string, Election>();
  const happened: string[] = [];
  const waiting = new Set<() => void>();
  const path = objectPath(leases, { namespace: 'default', name });
  const note = (text: string) => {
    happened.push(text);
    const leaders = [...elections]
      .filter(([, election]) => election.isLeader())
      .map(([identity]) => identity);
    if (leaders.length > 1) happened.push(`both lead: ${leaders.join()}`);
    for (const wake of waiting) wake();
  };
  return {
    happened,
    path,
    elected: (identity: string) => elections.get(identity) ?? fail(),
    async stand(identity: string) {
      const client = await openAdmin(plane());
      const election = startElection({
        client,
        clock: systemClock,
        random: Math.random,
        namespace: 'default',
        name,
        identity,
        ...times,
        onElected: () => note(`${identity} leads`),
        onLost: () => note(`${identity} lost`),
      });
      elections.set(identity, election);
      onEnd(async () => {
        await election.close();
        client.close();
      });
      return { election, client };
    },
    until: (text: string) =>
      new Promise<void>((resolve) => {
        const wake = () => {
          if (!happened.includes(text)) return;
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
        wake();
      }),
  };
}

async function readLease(client: KubeClient, path: string) {
  return leaseSchema.parse(await readObject(client, path));
}

describe('a leader election', () => {
  test('is won by one of three candidates', async () => {
    const { happened, stand, path } = useCandidates('three');
    const stood = await Promise.all(['a', 'b', 'c'].map(stand));
    await until(async () => stood.some(({ election }) => election.isLeader()));
    const { client } = stood[0] ?? fail();
    const first = await readLease(client, path);
    // A few renewals later it is still the same one.
    await until(
      async () => (await readLease(client, path)).spec.renewTime > addSeconds(first.spec.renewTime, 1),
    );
    expect(happened).toEqual([`${first.spec.holderIdentity} leads`]);
    expect(first.spec).toMatchObject({
      leaseTransitions: 0,
      leaseDurationSeconds: 2,
      acquireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    });
  });

  test('passes to another after the leader is cut off, and only after that leader has given up', async () => {
    const { happened, stand, until: happens, path } = useCandidates('cut-off');
    const a = await stand('a');
    await happens('a leads');
    const b = await stand('b');
    a.client.close();
    await happens('b leads');
    expect(happened).toEqual(['a leads', 'a lost', 'b leads']);
    expect((await readLease(b.client, path)).spec).toMatchObject({
      holderIdentity: 'b',
      leaseTransitions: 1,
    });
  });

  test('passes on in less than three seconds after the leader steps down', async () => {
    const { stand, until: happens, elected, path } = useCandidates('steps-down', {});
    const a = await stand('a');
    await happens('a leads');
    await a.election.close();
    expect(a.election.isLeader()).toBe(false);
    expect((await readLease(a.client, path)).spec).toMatchObject({
      holderIdentity: '',
      leaseDurationSeconds: 1,
    });
    await stand('b');
    await happens('b leads');
    const c = await stand('c');
    // It has seen that b leads, and would wait for 15 s if b did not say that it goes.
    await until(async () => (await readLease(c.client, path)).spec.holderIdentity === 'b');
    const startedAtMs = performance.now();
    await elected('b').close();
    await happens('c leads');
    expect(performance.now() - startedAtMs).toBeLessThan(3_000);
  });

  test('continues after its lease is deleted: the holder makes it again', async () => {
    const { happened, stand, until: happens, path } = useCandidates('deleted');
    const a = await stand('a');
    await happens('a leads');
    const b = await stand('b');
    const before = await readLease(a.client, path);
    // The other one has to have seen who holds it.
    await until(
      async () => (await readLease(b.client, path)).spec.renewTime > addSeconds(before.spec.renewTime, 1),
    );
    await deleteObject(a.client, path);
    await until(async () => {
      const lease = await readLease(b.client, path).catch(() => undefined);
      return lease !== undefined && lease.metadata.uid !== before.metadata.uid;
    });
    expect((await readLease(b.client, path)).spec.holderIdentity).toBe('a');
    expect(happened).toEqual(['a leads']);
  });
});

describe('a leader whose server hangs', () => {
  const lease = { metadata: { name: 'x', resourceVersion: '1' }, spec: {} };
  const start = async (...answers: Answer[]) => {
    const server = await startFaultServer(...answers);
    const client = openConnection({ server: server.url });
    const fake = makeFakeClock();
    const happened: string[] = [];
    const elected = Promise.withResolvers<void>();
    const election = startElection({
      client,
      clock: { ...fake, wallMs: fake.now },
      random: () => 0,
      namespace: 'default',
      name: 'x',
      identity: 'me',
      onElected: () => elected.resolve(),
      onLost: (reason) => void happened.push(reason),
    });
    onEnd(async () => {
      client.close();
      await election.close();
      await server.close();
    });
    return { server, fake, happened, election, elected: elected.promise };
  };

  test('loses the lease exactly when the time for a renewal is over', async () => {
    const { server, fake, happened, election, elected } = await start(
      refusal(404, 'NotFound'),
      json(lease),
      silence,
    );
    await elected;
    await until(async () => fake.pending().includes(2_000));
    fake.advance(2_000);
    await server.askedTimes(3);
    fake.advance(7_999);
    expect(election.isLeader()).toBe(true);
    expect(happened).toEqual([]);
    fake.advance(1);
    expect(election.isLeader()).toBe(false);
    expect(happened).toHaveLength(1);
    expect(happened[0]).toMatch(/could not be renewed for 10000 ms/);
  });

  test('does not lead by a renewal that was answered too late', async () => {
    let answer = () => {};
    const held: Answer = (response, request) => {
      answer = () => json(lease)(response, request);
    };
    const { server, fake, election } = await start(refusal(404, 'NotFound'), held, silence);
    await server.askedTimes(2);
    fake.advance(10_000);
    answer();
    await until(async () => fake.pending().length > 0);
    expect(election.isLeader()).toBe(false);
  });
});

function addSeconds(time: string, seconds: number): string {
  return new Date(Date.parse(time) + seconds * 1_000).toISOString();
}

function fail(): never {
  throw new Error('nobody stood');
}
