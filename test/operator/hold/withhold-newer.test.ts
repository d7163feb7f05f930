// Some gateways read older tables only: what waits for them, and what does not?

import { describe, expect, test } from 'vitest';
import { neededFormat, type TableContent } from '../../../core/contract/routing-table.ts';
import type { Grants } from '../../../operator/hold/pin-content.ts';
import { type Reader, withholdNewer } from '../../../operator/hold/withhold-newer.ts';
import {
  credential,
  keyEntry,
  makeContent,
  providerEntry,
  routeEntry,
  target,
} from '../publish/make-content.ts';

const proxy = { protocol: 'http', hostname: 'proxy.test', port: 3128 } as const;
const plain = providerEntry(1);
const newer = { ...plain, proxy };
const other = providerEntry(2);
const routes = [
  routeEntry(1, [target(plain.id)]),
  routeEntry(2, [target(plain.id), target(other.id)]),
  routeEntry(3, [target(other.id)]),
];
const content = (first: TableContent['providers'][number]): TableContent => ({
  ...makeContent({}),
  providers: [first, other],
  credentials: [credential(`${plain.id}/main`), credential(`${other.id}/main`)],
  routes,
  keys: [keyEntry(1)],
});

const ALLOWED: Grants = { provider: (form) => form, route: (route) => [route] };
const reads = (...formats: (number | undefined)[]): Reader[] =>
  formats.map((maxFormat, index) => ({ name: `pod-${index}`, maxFormat }));
const withhold = (last: TableContent | undefined, next: TableContent, readers: Reader[], grants = ALLOWED) =>
  withholdNewer({ last, next, readers, grants: () => grants });

test('the form in these tests needs a newer reader', () => {
  expect([neededFormat(plain), neededFormat(newer)]).toEqual([1, 2]);
});

describe('the new form is published:', () => {
  test.each<[string, TableContent | undefined, Reader[]]>([
    ['all gateways read it', content(plain), reads(2, 2)],
    ['there is no gateway', undefined, []],
    ['it is in use, and no gateway has answered yet', content(newer), reads(undefined, undefined)],
  ])('%s', (_, last, readers) => {
    expect(withhold(last, content(newer), readers)).toEqual({ content: content(newer), waits: new Map() });
  });

  test('a form that every gateway reads, whatever their versions', () => {
    const next = content(plain);
    expect(withhold(content(newer), next, reads(1, undefined)).content).toBe(next);
  });
});

describe('the new form alone waits:', () => {
  test('an older gateway keeps the earlier form in service, and everything else is published', () => {
    const next = { ...content(newer), keys: [keyEntry(2)] };
    const { content: out, waits } = withhold(content(plain), next, reads(2, 1));
    expect(out).toEqual({ ...next, providers: [plain, other] });
    expect(out.routes).toEqual(routes);
    expect([...waits]).toEqual([
      [
        `Provider/${plain.id}`,
        {
          status: 'False',
          reason: 'Pending',
          message:
            'gateway pod pod-1 reads tables up to format 1, and the current form of the object needs format 2; upgrade the gateways, the earlier form serves until then',
        },
      ],
    ]);
  });

  test('a gateway without a report may be an older one', () => {
    const { waits } = withhold(content(plain), content(newer), reads(2, undefined));
    expect(waits.get(`Provider/${plain.id}`)?.message).toContain('pod-1 has not reported');
  });

  test.each<[string, TableContent | undefined, Grants]>([
    ['there was none before', undefined, ALLOWED],
    ['the one before is as new', content(newer), ALLOWED],
    ['the one before may not be used any more', content(plain), { ...ALLOWED, provider: () => undefined }],
  ])(
    'without a form for the older gateway, the object is out of service, and routes say what they miss: %s',
    (_, last, grants) => {
      const { content: out, waits } = withhold(last, content(newer), reads(1), grants);
      expect(out.providers).toEqual([other]);
      expect(out.credentials.map(({ id }) => id)).toEqual([`${other.id}/main`]);
      expect(out.routes.map(({ id, targets }) => [id, targets.length])).toEqual([
        [routes[1]?.id, 1],
        [routes[2]?.id, 1],
      ]);
      expect([...waits.keys()]).toEqual([
        `Provider/${plain.id}`,
        `ModelRoute/${routes[0]?.id}`,
        `ModelRoute/${routes[1]?.id}`,
      ]);
      expect(waits.get(`Provider/${plain.id}`)?.message).toContain('out of service until then');
    },
  );
});
