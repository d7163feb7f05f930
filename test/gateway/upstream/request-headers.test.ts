// What does an upstream get in its headers, and which of its words may not go on? Each header once; and what it was signed in with,
// however it repeats it.

import { describe, expect, test } from 'vitest';
import type { ProviderEntry } from '../../../core/contract/routing-table.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { redactCredentials } from '../../../gateway/upstream/request-headers.ts';
import { ask } from '../../flow/ask.ts';
import { startWall } from '../../support/wall.ts';
import { type RigTarget, startRig, tableOf } from '../rig.ts';

const table = tableOf([
  {
    baseUrl: 'https://api.upstream.test/v1',
    provider: 'team/p',
    keys: { main: 'sk-main-0123456789', spare: 'sk-spare-9876543210' },
    providerEntry: {
      headers: [
        { name: 'x-version', value: '2026-11-21' },
        { name: 'x-proxy', credential: 'team/p/proxy' },
        { name: 'x-short', credential: 'team/p/short' },
        { name: 'x-json', credential: 'team/p/json' },
      ],
    },
  },
]);
const credential = (id: string, value: string) => ({
  id,
  value,
  fingerprint: 'f',
  hosts: ['api.upstream.test'],
});
const view = buildTableView({
  ...table,
  credentials: [
    ...table.credentials,
    credential('team/p/proxy', 'Bearer proxy-secret-42'),
    credential('team/p/short', 'one'),
    credential('team/p/json', '{"token":"a\\b-0123456789"}'),
  ],
});

function redact(text: string): string {
  const target = view.routes[0]?.targets[0];
  if (!target) throw new Error('the table has one target');
  return redactCredentials(text, target);
}

test.each([
  ['the key', 'Wrong key: sk-main-0123456789.', 'Wrong key: [redacted].'],
  ['another key of the provider', 'Not sk-spare-9876543210 again.', 'Not [redacted] again.'],
  ['the key, twice', 'sk-main-0123456789,sk-main-0123456789', '[redacted],[redacted]'],
  ['the key in a header', "'Authorization: Bearer sk-main-0123456789'", "'Authorization: Bearer [redacted]'"],
  ['a further credential without its scheme', 'proxy-secret-42 is unknown', '[redacted] is unknown'],
  [
    'a credential as a string of JSON',
    JSON.stringify({ got: '{"token":"a\\b-0123456789"}' }),
    '{"got":"[redacted]"}',
  ],
  [
    'a credential in an address',
    'GET /x?k=%7B%22token%22%3A%22a%5Cb-0123456789%22%7D',
    'GET /x?k=[redacted]',
  ],
  ['the key in base64', btoa('sk-main-0123456789'), '[redacted]'],
  ['the key in base64 behind a name', `Basic ${btoa('me:sk-main-0123456789')}`, 'Basic bWU6[redacted]'],
  [
    'the key in base64 behind a longer name',
    `Basic ${btoa('user:sk-main-0123456789')}`,
    'Basic dXNlcjp[redacted]=',
  ],
  [
    'the key in base64 for addresses',
    `token ${Buffer.from('u:sk-spare-9876543210?').toString('base64url')}`,
    'token dTp[redacted]Pw',
  ],
  ['the key in capitals', 'Wrong key: SK-MAIN-0123456789.', 'Wrong key: [redacted].'],
  ['the key with a capital letter', 'Sk-Main-0123456789 is wrong', '[redacted] is wrong'],
  [
    'twelve characters of its beginning',
    'A key sk-spare-987... is unknown',
    'A key [redacted]... is unknown',
  ],
  [
    'eight characters of its end',
    'The key that ends in 76543210 is unknown',
    'The key that ends in [redacted] is unknown',
  ],
  ['its midst', 'Not (-spare-987654)', 'Not ([redacted])'],
  ['both ends', 'sk-spare-9876*****6543210x, ...76543210', '[redacted]*****6543210x, ...[redacted]'],
  [
    'letters that grow in small letters',
    '\u0130\u0130 SK-MAIN-0123456789 \u0130',
    '\u0130\u0130 [redacted] \u0130',
  ],
  ['a key that is cut after eight characters', 'Wrong key: SK-MAIN-', 'Wrong key: [redacted]'],
  ['eleven characters of its beginning, and more', 'sk-main-012 was good', 'sk-main-012 was good'],
  ['a key that is cut off at the end', 'Wrong key: sk-main-0123', 'Wrong key: [redacted]'],
  [
    'a version, a word and a short value',
    '2026-11-21 is one of the versions',
    '2026-11-21 is one of the versions',
  ],
  ['part of a key, as providers show it', 'Wrong key: sk-main****6789', 'Wrong key: sk-main****6789'],
  ['seven characters of its end', 'It ends in 6543210', 'It ends in 6543210'],
  ['a long text without any', 'x'.repeat(100_000), 'x'.repeat(100_000)],
  ['nothing', '', ''],
])('%s', (_, said, reported) => {
  expect(redact(said)).toBe(reported);
});

describe('of a header that both the Provider and we would set, one goes out', () => {
  const cases: [what: string, entry: Partial<ProviderEntry>, name: string, value: string][] = [
    ['ours', {}, 'user-agent', 'penstock'],
    ["the Provider's", { headers: [{ name: 'User-Agent', value: 'ours/1.0' }] }, 'user-agent', 'ours/1.0'],
    [
      'the key',
      { auth: { header: 'X-Api-Key', prefix: '' }, headers: [{ name: 'x-api-key', value: 'none' }] },
      'x-api-key',
      'sk-upstream',
    ],
    [
      'the key, where it is in one of ours',
      { auth: { header: 'Accept', prefix: '' } },
      'accept',
      'sk-upstream',
    ],
    [
      "the Provider's, where the dialect has one",
      { headers: [{ name: 'Anthropic-Version', value: '2026-01-01' }] },
      'anthropic-version',
      '2026-01-01',
    ],
  ];
  test.each(cases)('%s', async (_what, providerEntry, name, value) => {
    await using parts = new AsyncDisposableStack();
    const wall = parts.adopt(await startWall(), (one) => one.close());
    const target: RigTarget = {
      baseUrl: wall.baseUrl,
      dialects: ['anthropic-messages'],
      keys: { main: 'sk-upstream' },
      providerEntry,
    };
    const rig = parts.adopt(await startRig(tableOf([target])), (one) => one.close());
    expect((await ask(rig, { endpoint: 'messages' })).status).toBe(200);
    const { rawHeaders = [] } = wall.calls[0] ?? {};
    const names = rawHeaders.map(([each]) => each.toLowerCase());
    expect(names).toEqual([...new Set(names)]);
    expect(rawHeaders.filter(([each]) => each.toLowerCase() === name).map(([, each]) => each)).toEqual([
      value,
    ]);
  });
});
