// Does anybody see or do more than Kubernetes says? Two people × every path × every action, by the server's own paths, held against
// `kubectl auth can-i`; then rows and streams, which are the server's own.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import type { KeyRow, Kind, RightName, Verb } from '../../dashboard/api-types.ts';
import { RIGHTS } from '../../dashboard/guard/kube-paths.ts';
import { callKubernetes, openKubernetes } from '../../dashboard/kubernetes/cluster.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { serviceAccountToken } from '../cluster/identities.ts';
import { until } from '../support/until.ts';
import { type Browser, type House, openBrowser, openHouse, type People } from './house.ts';

export function rightsSuite(plane: () => ControlPlane, people: () => People): void {
  const group = '/api/kube/apis/penstock.dev/v1alpha1';
  let house: House;
  let editor: Browser;
  let viewer: Browser;
  let nobody: Browser;
  /** More than stand on one page of Kubernetes. */
  const manyKeys = 510;

  beforeAll(async () => {
    house = await openHouse(plane());
    [editor, viewer, nobody] = [openBrowser(house), openBrowser(house), openBrowser(house)];
    for (const [browser, token] of [
      [editor, people().editor],
      [viewer, people().viewer],
      [nobody, people().nobody],
    ] as const)
      expect((await browser.signIn(token)).status).toBe(200);
  });
  afterAll(() => house?.close());

  const objectOf = (kind: Kind, name: string, namespace: string) => ({
    apiVersion: 'penstock.dev/v1alpha1',
    kind: { apikeys: 'ApiKey', providers: 'Provider', modelroutes: 'ModelRoute' }[kind],
    metadata: { name, namespace },
    spec: {
      apikeys: {},
      providers: { type: 'OpenAI', credentials: [{ secretRef: { name: 'x' } }] },
      modelroutes: { models: ['team/x'], targets: [{ provider: { name: 'x' } }] },
    }[kind],
  });

  /** As a program would call it that knows the paths. Undefined: no such thing in all namespaces. */
  async function tryOut(browser: Browser, right: RightName, namespace: string | null) {
    const [verb, kind] = right.split(' ') as [Verb, Kind | 'secrets'];
    const place = namespace === null ? '' : `/namespaces/${namespace}`;
    const dry = '?dryRun=All';
    if (kind === 'secrets') {
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'y' } };
      return namespace === null
        ? undefined
        : await browser.ask(`/api/kube/api/v1${place}/secrets${dry}`, { method: 'POST', body });
    }
    const path = `${group}${place}/${kind}`;
    const body = objectOf(kind, 'x', namespace ?? '');
    const method = { create: 'POST', update: 'PUT', patch: 'PATCH', delete: 'DELETE' }[verb as string];
    switch (verb) {
      case 'list':
        return await browser.ask(path);
      case 'watch': {
        const query = `kind=${kind}&namespace=${namespace ?? ''}`;
        const stream = await browser.stream(`/api/watch?${query}`);
        stream.close();
        return stream;
      }
      case 'create':
        return namespace === null ? undefined : await browser.ask(path + dry, { method: 'POST', body });
      case 'get':
        return namespace === null ? undefined : await browser.ask(`${path}/x`);
      default:
        return namespace === null
          ? undefined
          : await browser.ask(`${path}/x${dry}`, {
              method: String(method),
              ...(verb === 'delete' ? {} : { body }),
            });
    }
  }

  describe('two people with different rights', () => {
    const places = ['team-a', 'team-b', null];
    const everybody = [
      ['editor', () => editor],
      ['viewer', () => viewer],
      ['nobody', () => nobody],
    ] as const;

    for (const [name, browserOf] of everybody)
      for (const namespace of places)
        test(`${name}: what the pages are reported, and what the paths do, is what kubectl says ${namespace === null ? 'of all namespaces' : `of ${namespace}`}`, async () => {
          const browser = browserOf();
          const { body } = await browser.ask('/api/rights', { method: 'POST', body: { namespace } });
          const reported = body.rights as Record<RightName, { allowed: boolean; missing: string | null }>;
          expect(Object.keys(reported).sort()).toEqual([...RIGHTS].sort());
          const expected = await allowedBy(name, namespace);
          for (const right of RIGHTS) {
            const isAllowed = expected.has(right);
            const { allowed, missing } = reported[right];
            expect([right, allowed], right).toEqual([right, isAllowed]);
            const [verb, resource] = right.split(' ');
            const full = resource === 'secrets' ? 'secrets' : `${resource}.penstock.dev`;
            const where = namespace === null ? 'in all namespaces' : `in namespace ${namespace}`;
            expect(missing).toBe(isAllowed ? null : `${verb} ${full} ${where}`);
            // 403 by Kubernetes itself, and not where the right is there: what is missing then is the object.
            // A watch begins with a list, so it needs both.
            const needs = verb === 'watch' ? [right, right.replace('watch', 'list') as RightName] : [right];
            const answer = await tryOut(browser, right, namespace);
            if (answer !== undefined)
              expect([right, answer.status === 403], right).toEqual([
                right,
                !needs.every((one) => expected.has(one)),
              ]);
          }
        });

    /** By `kubectl auth can-i --list` in a namespace; of all of them by one question for each kind of right. */
    async function allowedBy(name: string, namespace: string | null): Promise<ReadonlySet<RightName>> {
      const as = `--as=system:serviceaccount:team-a:${name}`;
      if (namespace === null) {
        const asked = RIGHTS.filter((right) =>
          ['list apikeys', 'delete providers', 'create secrets'].includes(right),
        );
        const said = await Promise.all(
          asked.map(async (right) => {
            const [verb = '', resource = ''] = right.split(' ');
            const full = resource === 'secrets' ? resource : `${resource}.penstock.dev`;
            return (await plane().kubectl(['auth', 'can-i', verb, full, '-A', as])).stdout.trim() === 'yes';
          }),
        );
        // By its roles: of all namespaces the viewer may look at ApiKeys, and nobody may anything else.
        expect(said).toEqual([name === 'viewer', false, false]);
        return new Set(name === 'viewer' ? (['get apikeys', 'list apikeys', 'watch apikeys'] as const) : []);
      }
      const listed = await plane().mustKubectl([
        'auth',
        'can-i',
        '--list',
        '--no-headers',
        as,
        `--namespace=${namespace}`,
      ]);
      const allowed = new Set<RightName>();
      for (const line of listed.split('\n')) {
        const [, resource = '', verbs = ''] = /^(\S+).*\[([^\]]*)\]\s*$/.exec(line) ?? [];
        for (const verb of verbs.split(' ')) {
          const right = RIGHTS.find((one) => one === `${verb} ${resource.replace('.penstock.dev', '')}`);
          if (right !== undefined) allowed.add(right);
        }
      }
      return allowed;
    }

    test('see the namespaces that they may list, or that of their token', async () => {
      expect((await viewer.ask('/api/namespaces')).body).toEqual({
        namespaces: expect.arrayContaining(['default', 'kube-system', 'team-a', 'team-b']),
        isComplete: true,
      });
      expect((await editor.ask('/api/namespaces')).body).toEqual({
        namespaces: ['team-a'],
        isComplete: false,
      });
    });

    test('read no Secret, whatever their rights', async () => {
      const secrets = '/api/kube/api/v1/namespaces/team-a/secrets';
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'made' }, stringData: { a: 'b' } };
      expect((await editor.ask(secrets, { method: 'POST', body })).status).toBe(201);
      for (const path of [
        secrets,
        `${secrets}/made`,
        `${secrets}?watch=true`,
        '/api/kube/api/v1/secrets',
        '/api/watch?kind=secrets',
      ])
        expect([400, 404, 405], path).toContain((await editor.ask(path)).status);
      const { body: reported } = await editor.ask(`${secrets}/made`, { method: 'PUT', body });
      expect(reported).toEqual({ error: expect.objectContaining({ code: 'not_found' }) });
    });

    test('no request used the account of the dashboard itself', async () => {
      const events = await plane().audit();
      const users = new Set(
        events.filter(({ userAgent }) => userAgent === 'penstock').map(({ user }) => user),
      );
      // The admin made the tokens for this test.
      expect([...users].sort()).toEqual([
        'admin',
        ...['editor', 'nobody', 'viewer'].map((name) => `system:serviceaccount:team-a:${name}`),
      ]);
      const secrets = events.filter(({ resource, user }) => resource === 'secrets' && user !== 'admin');
      expect(new Set(secrets.map(({ verb }) => verb))).toEqual(new Set(['create']));
    });
  });

  describe('keys', () => {
    const rows = async (browser: Browser, query: string) => {
      const { status, body } = await browser.ask(`/api/rows/apikeys?${query}`);
      return { status, body, names: (body.rows ?? []).map(({ name }: KeyRow) => name) as string[] };
    };
    const path = `${group}/namespaces/team-a/apikeys`;
    const make = (name: string, spec: object = {}) =>
      editor.ask(path, { method: 'POST', body: { ...objectOf('apikeys', name, 'team-a'), spec } });

    beforeAll(async () => {
      const names = Array.from({ length: manyKeys }, (_, index) => `many-${String(index).padStart(4, '0')}`);
      const left = [...names];
      const { client } = plane();
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          for (let name = left.pop(); name !== undefined; name = left.pop())
            await client.call({
              method: 'POST',
              path: '/apis/penstock.dev/v1alpha1/namespaces/team-b/apikeys',
              body: {
                ...objectOf('apikeys', name, 'team-b'),
                spec: { owner: { name: `owner-${name.slice(-1)}` } },
              },
            });
        }),
      );
    });

    test('are searched, sorted and paged, for users who may list them', async () => {
      expect((await rows(editor, 'namespace=team-b')).status).toBe(403);
      expect((await rows(editor, '')).status).toBe(403);
      const { status, body, names } = await rows(viewer, 'namespace=team-b&q=OWNER-7&order=desc&limit=3');
      expect([status, body.total, body.spendFrom, body.isTruncated, names]).toEqual([
        200,
        manyKeys / 10,
        'status',
        false,
        ['many-0507', 'many-0497', 'many-0487'],
      ]);
      expect((await rows(viewer, 'limit=1')).body.total).toBeGreaterThanOrEqual(manyKeys);
      for (const wrong of ['limit=201', 'sort=hint', 'state=Odd', 'namespace=..', 'more=1', 'offset=-1'])
        expect((await rows(viewer, wrong)).status, wrong).toBe(400);
    });

    test('are listed once while pages are turned, and again after a change of one’s own', async () => {
      const listed = async () =>
        (await plane().audit()).filter(
          ({ verb, uri, user }) =>
            verb === 'list' && uri.includes('team-a/apikeys') && user.endsWith('editor'),
        ).length;
      await rows(editor, 'namespace=team-a');
      const before = await listed();
      await rows(editor, 'namespace=team-a&offset=50');
      expect(await listed()).toBe(before);
      expect((await make('mine')).status).toBe(201);
      expect((await rows(editor, 'namespace=team-a')).names).toContain('mine');
      const patch = { spec: { disabled: true, owner: { name: 'Ada' } } };
      expect((await editor.ask(`${path}/mine`, { method: 'PATCH', body: patch })).body.spec).toEqual(
        patch.spec,
      );
      expect((await rows(editor, 'namespace=team-a&state=Disabling&q=ada')).names).toEqual(['mine']);
      expect((await editor.ask(`${path}/mine`, { method: 'DELETE' })).status).toBe(200);
      expect((await rows(editor, 'namespace=team-a')).names).not.toContain('mine');
      // What Kubernetes says of a wrong one is reported as it is.
      const { status, body } = await make('wrong', { budgets: [{ period: 'Year', limit: '1' }] });
      expect([status, body.kind, body.message]).toEqual([
        422,
        'Status',
        expect.stringContaining('budgets[0].period'),
      ]);
    });

    test('change live', async () => {
      const stream = await viewer.stream('/api/watch?kind=apikeys&namespace=team-a');
      expect([stream.status, stream.headers['content-type']]).toEqual([
        200,
        'text/event-stream; charset=utf-8',
      ]);
      const next = async () => {
        const event = await stream.nextEvent();
        return [event?.name, JSON.parse(event?.data ?? 'null')];
      };
      expect(await next()).toEqual(['reset', { resourceVersion: expect.stringMatching(/^\d+$/) }]);
      await rows(viewer, 'namespace=team-a');
      await make('seen');
      expect(await next()).toEqual([
        'change',
        {
          type: 'ADDED',
          object: expect.objectContaining({ metadata: expect.objectContaining({ name: 'seen' }) }),
        },
      ]);
      // Also in the list that was read before it.
      expect((await rows(viewer, 'namespace=team-a')).names).toContain('seen');
      await editor.ask(`${path}/seen`, { method: 'PATCH', body: { spec: { disabled: true } } });
      const [, changed] = await next();
      expect([changed.type, changed.object.spec, changed.object.metadata.managedFields]).toEqual([
        'MODIFIED',
        { disabled: true },
        undefined,
      ]);
      await editor.ask(`${path}/seen`, { method: 'DELETE' });
      expect((await next())[1].type).toBe('DELETED');
      expect((await rows(viewer, 'namespace=team-a')).names).not.toContain('seen');
      stream.close();
    });
  });

  test('kinds that are not installed are reported as that, and not as a Kubernetes that does not answer', async () => {
    const { url, caFile, adminToken } = plane();
    const connection = openKubernetes({ url, caFile, clock: systemClock });
    onTestFinished(() => connection.close());
    const call = { method: 'GET', path: '/apis/never-installed.penstock.dev/v1alpha1/apikeys' } as const;
    expect(await callKubernetes(connection, adminToken, call)).toMatchObject({
      status: 404,
      body: { kind: 'Status', message: expect.stringContaining('CustomResourceDefinitions') },
    });
  });

  describe('a stream', () => {
    /** In a session of their own. */
    async function newViewer(): Promise<Browser> {
      const browser = openBrowser(house);
      await browser.signIn(await serviceAccountToken(plane(), 'team-a', 'viewer'));
      return browser;
    }

    test('ends with its session', async () => {
      const browser = await newViewer();
      const stream = await browser.stream('/api/watch?kind=apikeys');
      expect((await stream.nextEvent())?.name).toBe('reset');
      await browser.ask('/api/session', { method: 'DELETE' });
      const { events, ending } = await stream.finished;
      expect([events.at(-1)?.name, events.at(-1)?.data, ending]).toEqual([
        'end',
        '{"reason":"session"}',
        'last-chunk',
      ]);
    });

    test('is limited in number', async () => {
      const browser = await newViewer();
      const streams = [];
      for (let count = 0; count < 9; count += 1)
        streams.push(await browser.stream('/api/watch?kind=apikeys'));
      expect(streams.map(({ status }) => status)).toEqual([...Array.from({ length: 8 }, () => 200), 429]);
      for (const stream of streams) stream.close();
      await until(async () => {
        const stream = await browser.stream('/api/watch?kind=apikeys');
        stream.close();
        return stream.status === 200;
      });
    });
  });
}
