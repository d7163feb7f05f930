// What does the dashboard export of what it was asked, and does the page about it say the same?

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { exposed } from '../../core/telemetry/metric.ts';
import { type Answered, isStream, routeWord, signInOf, statusWord } from '../../dashboard/answered.ts';
import { openKubernetes } from '../../dashboard/kubernetes/cluster.ts';
import { openOidc } from '../../dashboard/kubernetes/oidc.ts';
import { kubernetesSignIn } from '../../dashboard/kubernetes/sign-in.ts';
import { dashboardMetrics } from '../../dashboard/metric-table.ts';
import { createMetrics } from '../../dashboard/metrics.ts';
import { freePort } from '../cluster/free-port.ts';
import { until } from '../support/until.ts';
import { openBrowser, openHouse } from './house.ts';
import { answered, usedMetrics } from './used-metrics.ts';

const text = () => usedMetrics().registry.metrics();

test.each([
  'penstock_dashboard_requests_total{route="/api/namespaces",status="2xx"} 1',
  'penstock_dashboard_requests_total{route="/api/namespaces",status="5xx"} 1',
  'penstock_dashboard_requests_total{route="/api/namespaces",status="gone"} 1',
  'penstock_dashboard_requests_total{route="pages",status="2xx"} 1',
  'penstock_dashboard_requests_total{route="none",status="4xx"} 1',
  'penstock_dashboard_requests_total{route="/api/watch",status="2xx"} 1',
  'penstock_dashboard_request_duration_seconds_sum{route="/api/namespaces"} 0.12',
  'penstock_dashboard_sign_ins_total{way="token",outcome="refused"} 1',
  'penstock_dashboard_sign_ins_total{way="oidc",outcome="failed"} 0',
  'penstock_dashboard_sign_outs_total 1',
  'penstock_dashboard_streams 3',
])('%s', async (line) => {
  expect((await text()).split('\n')).toContain(line);
});

test('the time that a page is open is not the time of its answers', async () => {
  expect(await text()).not.toContain('request_duration_seconds_sum{route="/api/watch"}');
  expect(isStream(answered({ route: '/api/watch', status: 429 }))).toBe(false);
});

test.each<[string, Partial<Answered>, ReturnType<typeof signInOf>]>([
  ['a token that is good', { method: 'POST', status: 200 }, { way: 'token', outcome: 'admitted' }],
  ['an unknown token', { method: 'POST', status: 401 }, { way: 'token', outcome: 'refused' }],
  ['a token that is too long', { method: 'POST', status: 400 }, { way: 'token', outcome: 'refused' }],
  ['one attempt too many', { method: 'POST', status: 429 }, { way: 'token', outcome: 'limited' }],
  ['no Kubernetes', { method: 'POST', status: 503 }, { way: 'token', outcome: 'failed' }],
  ['a browser that has left', { method: 'POST', status: undefined }, undefined],
  ['the question about the session', { method: 'GET', status: 401 }, undefined],
])('%s is a sign-in by token, as far as it goes', (_, more, expected) => {
  expect(signInOf(answered({ route: '/api/session', ...more }))).toEqual(expected);
});

test.each<[string, string, Partial<Answered>, ReturnType<typeof signInOf>]>([
  ['a return from the issuer', 'callback', { location: '/keys?to=1' }, { way: 'oidc', outcome: 'admitted' }],
  [
    'a token that Kubernetes does not take',
    'callback',
    { location: '/keys?state=Ready&signInError=unknown_token' },
    { way: 'oidc', outcome: 'refused' },
  ],
  [
    'one attempt too many',
    'callback',
    { location: '/?signInError=too_many_attempts' },
    { way: 'oidc', outcome: 'limited' },
  ],
  [
    'no Kubernetes',
    'callback',
    { location: '/?signInError=cluster_unreachable' },
    { way: 'oidc', outcome: 'failed' },
  ],
  [
    'no issuer at the beginning',
    'start',
    { location: '/?signInError=issuer_unreachable' },
    { way: 'oidc', outcome: 'failed' },
  ],
  ['a beginning', 'start', { location: 'https://login.example/?signInError=unknown_token' }, undefined],
  ['what we did wrong', 'callback', { status: 500 }, { way: 'oidc', outcome: 'failed' }],
  ['an installation without an issuer', 'callback', { status: 404 }, undefined],
])('%s is a sign-in by the issuer, as far as it goes', (_, end, more, expected) => {
  expect(signInOf(answered({ route: `/api/oidc/${end}`, status: 302, ...more }))).toEqual(expected);
});

test('labels hold only fixed words, whatever was requested', () => {
  const words = ['/api/kube/*', '/assets/a.js', '/*', '/readyz', undefined].map((route) =>
    routeWord({ route }),
  );
  expect(words).toEqual(['/api/kube/*', 'pages', 'pages', '/readyz', 'none']);
  expect([200, 302, 421, 503, undefined].map((status) => statusWord({ status }))).toEqual([
    '2xx',
    '3xx',
    '4xx',
    '5xx',
    'gone',
  ]);
});

test('a sign-in without an answer from Kubernetes or the issuer is counted, with its page', async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const settings = {
    issuer: nobody,
    clientId: 'penstock',
    clientSecret: undefined,
    scopes: 'openid',
    name: 'One',
  };
  const connection = openKubernetes({ url: nobody, caFile: undefined, clock: systemClock });
  const metrics = createMetrics();
  const house = await openHouse(
    { url: nobody, caFile: '' },
    { signIn: kubernetesSignIn(connection, openOidc(settings, systemClock.now)), metrics },
  );
  try {
    const browser = openBrowser(house);
    expect((await browser.ask('/api/oidc/start')).headers.location).toBe('/?signInError=issuer_unreachable');
    expect((await browser.signIn('a-token')).status).toBe(503);
    expect((await browser.ask('/keys')).status).toBe(200);
    const counted = async (line: string) => (await metrics.registry.metrics()).split('\n').includes(line);
    for (const line of [
      'penstock_dashboard_sign_ins_total{way="oidc",outcome="failed"} 1',
      'penstock_dashboard_sign_ins_total{way="token",outcome="failed"} 1',
      'penstock_dashboard_requests_total{route="/api/oidc/start",status="3xx"} 1',
      'penstock_dashboard_requests_total{route="pages",status="2xx"} 1',
    ])
      await until(() => counted(line));
  } finally {
    await house.close();
    connection.close();
  }
});

test('docs/metrics.md has a row for every metric of the dashboard, with its type and labels, and no other', async () => {
  const page = await readFile(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const section = page.split('\n## Dashboard\n')[1]?.split('\n## ')[0] ?? '';
  const documented = [...section.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]+) \| [A-Z][^|]{20,} \|$/gm)];
  const exported = [...(await text()).matchAll(/^# TYPE (penstock_\w+) (\w+)$/gm)];
  const rows = Object.values(dashboardMetrics).map((metric) => {
    const { name, labels } = exposed(metric);
    return [name, metric.type, labels.map((label) => `\`${label}\``).join(', ') || 'none'];
  });
  expect(documented.map(([, ...cells]) => cells)).toEqual(rows);
  expect(exported.map(([, ...cells]) => cells).toSorted()).toEqual(
    rows.map((cells) => cells.slice(0, 2)).toSorted(),
  );
});
