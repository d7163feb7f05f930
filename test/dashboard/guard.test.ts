// What gets through the door at all? Pure: hosts, senders, and the few paths of Kubernetes.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeKubeCall, RIGHTS, rightInWords } from '../../dashboard/guard/kube-paths.ts';
import { findPlace, placeOf } from '../../dashboard/guard/places.ts';
import { isForeignPage, isOwnPage, isSameText } from '../../dashboard/guard/same-origin.ts';
import { isOwnPath } from '../../dashboard/routes/oidc.ts';

const outside = placeOf(new URL('https://penstock.example.com'));

describe('the host of a request', () => {
  test('is one of the configured names, or localhost', () => {
    const find = (host: string | undefined) => findPlace([outside], host)?.origin;
    expect(find('penstock.example.com')).toBe('https://penstock.example.com');
    expect(find('PENSTOCK.example.com')).toBe('https://penstock.example.com');
    expect(find('localhost:8080')).toBe('http://localhost:8080');
    expect(find('127.0.0.1')).toBe('http://127.0.0.1');
    expect(find('[::1]:9')).toBe('http://[::1]:9');
    for (const host of [
      'penstock.example.com.',
      'penstock.example.com:444',
      'localhost.example',
      '127.0.0.2',
      '0.0.0.0',
      '[::]',
      'localhost:99999',
      'a@localhost',
      '',
      undefined,
    ])
      expect(find(host), host).toBeUndefined();
  });

  test('of any other kind is rejected', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.domain(), fc.ipV4(), fc.ipV6()), (host) => {
        fc.pre(!/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host));
        expect(findPlace([outside], host)).toBeUndefined();
      }),
    );
  });
});

describe('the sender of a request', () => {
  const sites = [undefined, 'same-origin', 'same-site', 'cross-site', 'none', ''];
  const origins = [undefined, outside.origin, 'https://evil.example', 'null', ''];

  test('that changes something must prove that it is our page', () => {
    const own = sites.flatMap((site) =>
      origins.filter((origin) => isOwnPage({ site, origin }, outside)).map((origin) => [site, origin]),
    );
    expect(own).toEqual([
      [undefined, outside.origin],
      ['same-origin', undefined],
      ['same-origin', outside.origin],
    ]);
  });

  test('that reads does not come from another site', () => {
    const read = sites.flatMap((site) =>
      origins.filter((origin) => !isForeignPage({ site, origin }, outside)).map((origin) => [site, origin]),
    );
    expect(read).toEqual([
      [undefined, undefined],
      [undefined, outside.origin],
      ['same-origin', undefined],
      ['same-origin', outside.origin],
      ['none', undefined],
      ['none', outside.origin],
    ]);
  });

  test('shows the very text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(isSameText(one, one)).toBe(true);
        expect(isSameText(one, other)).toBe(one === other);
      }),
    );
    expect(isSameText(undefined, '')).toBe(false);
  });
});

describe('a path of Kubernetes', () => {
  const judge = (method: string, address: string, body?: unknown) => {
    const [path = '', search = ''] = address.split('?');
    return judgeKubeCall({ method, path, query: new URLSearchParams(search), body });
  };
  const why = (...asked: Parameters<typeof judge>) => {
    const judged = judge(...asked);
    return judged.isAllowed ? judged.right : judged.why;
  };
  const group = '/apis/penstock.dev/v1alpha1';
  const secret = { apiVersion: 'v1', kind: 'Secret' };

  test('is one of our kinds, or the creation of a Secret', () => {
    const object = {};
    expect(why('GET', `${group}/apikeys`)).toBe('list apikeys');
    expect(why('GET', `${group}/namespaces/a/providers?limit=5&continue=x`)).toBe('list providers');
    expect(why('GET', `${group}/namespaces/a/modelroutes/b.c`)).toBe('get modelroutes');
    expect(why('POST', `${group}/namespaces/a/apikeys?dryRun=All`, object)).toBe('create apikeys');
    expect(why('PUT', `${group}/namespaces/a/apikeys/b`, object)).toBe('update apikeys');
    expect(why('PATCH', `${group}/namespaces/a/apikeys/b`, object)).toBe('patch apikeys');
    expect(why('DELETE', `${group}/namespaces/a/apikeys/b`)).toBe('delete apikeys');
    expect(why('POST', '/api/v1/namespaces/a/secrets', secret)).toBe('create secrets');
  });

  test('is nothing else', () => {
    for (const path of [
      ...['', '/', '/api', '/apis', group, `${group}/`, `${group}/namespaces`, `${group}/namespaces/a`],
      ...[
        '/api/v1/secrets',
        '/api/v1/namespaces/a/secrets/b',
        '/api/v1/namespaces/a/configmaps',
        '/api/v1/namespaces/a',
      ],
      ...[`${group}/namespaces/a/apikeys/b/status`, `${group}/apikeys/b`, `${group}/namespaces/a/secrets`],
      ...[
        `${group}/namespaces//apikeys`,
        `${group}/namespaces/../apikeys/b`,
        `${group}/namespaces/a/apikeys/..`,
      ],
      ...[
        `${group}/namespaces/a/apikeys/%2e%2e`,
        `${group}/namespaces/a%2fb/apikeys`,
        `${group}/namespaces/A/apikeys`,
      ],
      ...[
        `/${group}/apikeys`,
        `${group}/apikeys/`,
        `${group}/APIKEYS`,
        `/x${group}/apikeys`,
        `${group}/apikeys\n`,
      ],
      '/apis/penstock.dev/v1beta1/apikeys',
    ])
      expect(why('GET', path), path).toBe('unknown');
  });

  test('is not reached by another spelling', () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'get'])
      expect(why(method, '/api/v1/namespaces/a/secrets', secret), method).toBe('method');
    expect(why('POST', `${group}/apikeys`, {})).toBe('method');
    expect(why('DELETE', `${group}/namespaces/a/apikeys`)).toBe('method');
    expect(why('POST', `${group}/namespaces/a/apikeys/b`, {})).toBe('method');
    for (const query of [
      'watch=true',
      'dryRun=all',
      'limit=0',
      'limit=1&limit=2',
      'resourceVersion=0',
      'fieldSelector=x',
      'pretty=1',
    ])
      expect(why('GET', `${group}/apikeys?${query}`), query).toBe('query');
    expect(why('DELETE', `${group}/namespaces/a/apikeys/b?gracePeriodSeconds=0`)).toBe('query');
    for (const body of [undefined, null, 'x', [], 7])
      expect(why('POST', `${group}/namespaces/a/apikeys`, body), String(body)).toBe('body');
    for (const body of [{}, { apiVersion: 'v1', kind: 'SecretList' }, { kind: 'Secret' }])
      expect(why('POST', '/api/v1/namespaces/a/secrets', body)).toBe('body');
  });

  test('is built from its parts: whatever is sent, only allowed paths are called', () => {
    const words = fc.constantFrom(
      'api',
      'apis',
      'v1',
      'v1alpha1',
      'penstock.dev',
      'namespaces',
      'secrets',
      'apikeys',
      'providers',
      'a',
      'kube-system',
      '..',
      '.',
      '%2e',
      '%2f',
      '',
      'x?y',
      'a#b',
      'é',
    );
    const path = fc.oneof(
      fc
        .array(fc.oneof(words, fc.string({ maxLength: 6 })), { maxLength: 8 })
        .map((parts) => `/${parts.join('/')}`),
      fc.tuple(fc.string(), fc.string()).map(([a, b]) => `${group}/namespaces/${a}/apikeys/${b}`),
      fc.string().map((a) => `/api/v1/namespaces/${a}/secrets`),
    );
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE');
    fc.assert(
      fc.property(method, path, fc.constantFrom(undefined, {}, secret), (way, address, body) => {
        const judged = judgeKubeCall({ method: way, path: address, query: new URLSearchParams(), body });
        if (!judged.isAllowed) return;
        const { call } = judged;
        expect(new URL(call.path, 'https://kube').pathname).toBe(call.path);
        if (call.path.includes('secret') && !call.path.includes('penstock.dev'))
          expect([call.method, /^\/api\/v1\/namespaces\/[a-z0-9-]+\/secrets$/.test(call.path)]).toEqual([
            'POST',
            true,
          ]);
        else
          expect(call.path).toMatch(
            /^\/apis\/penstock\.dev\/v1alpha1\/(namespaces\/[a-z0-9-]+\/)?(apikeys|providers|modelroutes)(\/[a-z0-9.-]+)?$/,
          );
      }),
      { numRuns: 1_000 },
    );
  });

  test('has a limit on the number of listed objects', () => {
    for (const [asked, got] of [
      ['', '500'],
      ['?limit=20', '20'],
      ['?limit=99999', '500'],
    ]) {
      const judged = judge('GET', `${group}/apikeys${asked}`);
      expect(judged.isAllowed && judged.call.query?.limit).toBe(got);
    }
  });

  test('needs a right, named as by kubectl', () => {
    expect(RIGHTS).toHaveLength(22);
    expect(rightInWords('create apikeys', 'team-a')).toBe('create apikeys.penstock.dev in namespace team-a');
    expect(rightInWords('create secrets', null)).toBe('create secrets in all namespaces');
  });
});

test('the redirect after sign-in stays on this origin', () => {
  for (const to of ['/', '/keys?state=Ready', '/a/b#c']) expect(isOwnPath(to), to).toBe(true);
  for (const to of [
    '',
    'keys',
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/a\nb',
    '/\t/evil',
    '/api/oidc/start',
    '/api',
    `/${'x'.repeat(2_000)}`,
  ])
    expect(isOwnPath(to), to).toBe(false);
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.webUrl(),
        fc.string().map((text) => `/${text}`),
      ),
      (to) => {
        if (isOwnPath(to)) expect(new URL(to, outside.origin).origin).toBe(outside.origin);
      },
    ),
  );
});
