// Who is asking? One and the same 401 for every key that is no key, on every route, with a hint where a person can
// mend it. (The service's specification, "Authentication" and "Errors".)

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { authenticate, readCredential } from '../../../gateway/auth/authenticate.ts';
import { GatewayError } from '../../../gateway/request/errors.ts';
import { readHead } from '../../../gateway/request/request-head.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Answered, errorOf, get, messagesErrorOf, post } from '../endpoints/ask.ts';
import { keyEntry, type Rig, startRig, tableOf, testKey } from '../rig.ts';

const otherKey = `psk_${'o'.repeat(49)}`;
const unknownKey = `psk_${'u'.repeat(49)}`;
const expiringKey = `psk_${'e'.repeat(49)}`;
const shortKey = `psk_${'q'.repeat(16)}`;
const expiresAtMs = 1_900_000_000_000;

const generationRoutes = {
  '/v1/chat/completions': { model: 'm', messages: [{ role: 'user', content: 'x' }] },
  '/v1/completions': { model: 'm', prompt: 'x' },
} as const;

let wall: Wall;
let rig: Rig;
let wallMs = expiresAtMs - 1;

beforeAll(async () => {
  wall = await startWall();
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  const keys = [
    ...table.keys,
    keyEntry(otherKey, 'other/key'),
    keyEntry(shortKey, 'team/short'),
    { ...keyEntry(expiringKey, 'team/expiring'), notAfterMs: expiresAtMs },
  ];
  rig = await startRig({ ...table, keys }, { clock: { ...systemClock, wallMs: () => wallMs } });
});

beforeEach(() => {
  wallMs = expiresAtMs - 1;
});

afterAll(async () => {
  await rig.close();
  await wall.close();
});

type Headers = readonly (readonly [string, string])[];

/** The answers of both generation routes. */
async function askBoth(headers: Headers): Promise<readonly Answered[]> {
  const answers: Answered[] = [];
  for (const [path, body] of Object.entries(generationRoutes))
    answers.push(await post(rig, path, body, headers));
  return answers;
}

const plainRefusal =
  'The API key is missing, unknown, disabled or expired. Send a valid one as the header "Authorization: Bearer <API_KEY>".';
const quotesHint = ' The key has quotes or spaces in it. Send the bare key.';
const schemeHint = ' The Authorization header must begin with "Bearer ".';

const refused: readonly (readonly [string, Headers, string])[] = [
  ['no header', [], ''],
  ['an empty header', [['authorization', '']], schemeHint],
  ['the scheme alone', [['authorization', 'Bearer']], ''],
  ['the scheme and a blank', [['authorization', 'Bearer ']], ''],
  ['an unknown key', [['authorization', `Bearer ${unknownKey}`]], ''],
  ['a known key, one character more', [['authorization', `Bearer ${testKey}k`]], ''],
  ['a known key, one character less', [['authorization', `Bearer ${testKey.slice(0, -1)}`]], ''],
  ['a known key in other letters', [['authorization', `Bearer ${testKey.toUpperCase()}`]], ''],
  ['a key of 19 characters', [['authorization', `Bearer psk_${'k'.repeat(15)}`]], ''],
  ['another prefix', [['authorization', `Bearer sk-${'k'.repeat(50)}`]], ''],
  ['no prefix', [['authorization', `Bearer ${'k'.repeat(53)}`]], ''],
  [
    'the digest of a key',
    [['authorization', `Bearer ${createHash('sha256').update(testKey).digest('hex')}`]],
    '',
  ],
  ['double quotes', [['authorization', `Bearer "${testKey}"`]], quotesHint],
  ['single quotes', [['authorization', `Bearer '${testKey}'`]], quotesHint],
  ['backticks', [['authorization', `Bearer \`${testKey}\``]], quotesHint],
  ['a quote in front', [['authorization', `Bearer "${testKey}`]], quotesHint],
  ['a quote behind', [['authorization', `Bearer ${testKey}"`]], quotesHint],
  ['two blanks and a quote', [['authorization', `Bearer  "${testKey}"`]], quotesHint],
  ['two blanks and a tab', [['authorization', `Bearer  \t${testKey}`]], quotesHint],
  ['a blank in front of an x-api-key with a scheme', [['x-api-key', `Bearer  ${testKey}`]], quotesHint],
  ['a blank inside', [['authorization', `Bearer ${testKey.slice(0, 9)} ${testKey.slice(9)}`]], quotesHint],
  ['a tab inside', [['authorization', `Bearer ${testKey.slice(0, 9)}\t${testKey.slice(9)}`]], quotesHint],
  ['the scheme twice', [['authorization', `Bearer Bearer ${testKey}`]], quotesHint],
  ['a comma behind', [['authorization', `Bearer ${testKey},`]], ''],
  ['two keys', [['authorization', `Bearer ${testKey}, Bearer ${otherKey}`]], quotesHint],
  ['a tab behind the scheme', [['authorization', `Bearer\t${testKey}`]], schemeHint],
  ['no scheme', [['authorization', testKey]], schemeHint],
  ['Basic', [['authorization', `Basic ${Buffer.from(`user:${testKey}`).toString('base64')}`]], schemeHint],
  ['Token', [['authorization', `Token ${testKey}`]], schemeHint],
  ['a scheme without its blank', [['authorization', `Bearer${testKey}`]], schemeHint],
  ['quotes around it all', [['authorization', `"Bearer ${testKey}"`]], schemeHint],
  ['an empty x-api-key', [['x-api-key', '']], ''],
  ['an unknown x-api-key', [['x-api-key', unknownKey]], ''],
  ['a quoted x-api-key', [['x-api-key', `"${testKey}"`]], quotesHint],
  ['an x-api-key with a scheme', [['x-api-key', `Bearer ${testKey}`]], quotesHint],
  [
    'a good x-api-key behind an unknown Authorization',
    [
      ['x-api-key', testKey],
      ['authorization', `Bearer ${unknownKey}`],
    ],
    '',
  ],
  [
    'a good x-api-key behind an empty Authorization',
    [
      ['authorization', ''],
      ['x-api-key', testKey],
    ],
    schemeHint,
  ],
  ['a good key in another header', [['api-key', testKey]], ''],
];

describe('an invalid key gets 401 on both generation routes, and no upstream is called', () => {
  test.each(refused)('%s', async (_name, headers, hint) => {
    const before = wall.calls.length;
    for (const answer of await askBoth(headers)) {
      expect(answer.status).toBe(401);
      expect(errorOf(answer)).toEqual({
        message: plainRefusal + hint,
        type: 'invalid_request_error',
        code: 'invalid_api_key',
        param: null,
      });
      expect(answer.headers).toMatchObject({
        'www-authenticate': 'Bearer',
        'x-should-retry': 'false',
        'content-type': 'application/json',
        'x-request-id': expect.stringMatching(/^req_/),
      });
      expect(answer.text).not.toContain('kkkk');
    }
    expect(wall.calls).toHaveLength(before);
  });

  test('a key in the query string is ignored', async () => {
    const answer = await post(
      rig,
      `/v1/completions?api_key=${testKey}`,
      generationRoutes['/v1/completions'],
      {},
    );
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain(testKey);
  });

  test('missing, unknown and expired keys get one and the same body', async () => {
    wallMs = expiresAtMs;
    const texts = new Set<string>();
    for (const headers of [
      [],
      [['authorization', `Bearer ${unknownKey}`]],
      [['authorization', `Bearer ${expiringKey}`]],
    ] as const) {
      for (const { text } of await askBoth(headers)) texts.add(text);
    }
    expect(texts.size).toBe(1);
  });

  test('every rejected key costs the same: one digest of equal length and one look-up', () => {
    const expiring = { ...keyEntry(expiringKey, 'team/expiring'), notAfterMs: 1 };
    const asked: string[] = [];
    const book = {
      settings: { keyPrefix: 'psk_' },
      keys: {
        get(digest: string) {
          asked.push(digest);
          return digest === expiring.sha256 ? expiring : undefined;
        },
      },
    };
    for (const headers of [
      [],
      ['authorization', 'Bearer short'],
      ['authorization', `Bearer other_${'x'.repeat(47)}`],
      ['authorization', `Bearer ${unknownKey}`],
      ['authorization', `Bearer ${expiringKey}`],
    ]) {
      expect(() => authenticate(readCredential(readHead(headers)), book, 2)).toThrow(plainRefusal);
      expect(asked.splice(0)).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    }
  });

  test('a wrong key is reported before the body is read, also if the body is not JSON', async () => {
    const answer = await post(rig, '/v1/completions', '{', [['authorization', `Bearer ${unknownKey}`]]);
    expect(answer.status).toBe(401);
  });

  test('the messages shape keeps the type of the specification', async () => {
    const answer = await post(rig, '/v1/chat/completions', {}, { 'anthropic-version': '2023-06-01' });
    expect(answer.status).toBe(401);
    expect(messagesErrorOf(answer).error).toEqual({
      type: 'invalid_request_error',
      message: plainRefusal,
      code: 'invalid_api_key',
    });
  });
});

describe('a good key', () => {
  test.each<readonly [string, Headers]>([
    ['as a bearer', [['authorization', `Bearer ${testKey}`]]],
    ['with the scheme in small letters', [['authorization', `bearer ${testKey}`]]],
    ['with the scheme in capitals', [['AUTHORIZATION', `BEARER ${testKey}`]]],
    ['behind two blanks (RFC 9110, section 11.4)', [['authorization', `Bearer  ${testKey}`]]],
    ['behind many blanks and a scheme in small letters', [['authorization', `bearer      ${testKey}`]]],
    ['of 20 characters behind three blanks', [['authorization', `Bearer   ${shortKey}`]]],
    ['with blanks around the header', [['authorization', `  Bearer ${testKey} \t`]]],
    ['as x-api-key', [['x-api-key', testKey]]],
    [
      'in both headers',
      [
        ['x-api-key', testKey],
        ['authorization', `Bearer ${testKey}`],
      ],
    ],
    ['of exactly 20 characters', [['authorization', `Bearer ${shortKey}`]]],
  ])('%s', async (_name, headers) => {
    for (const answer of await askBoth(headers)) expect(answer.status).toBe(200);
  });

  test('Authorization decides where both headers are sent', async () => {
    // The other tenant has no model m: whose key counted shows in the answer.
    for (const [bearerKey, apiKey, status] of [
      [testKey, otherKey, 200],
      [otherKey, testKey, 404],
      [testKey, 'not a key', 200],
    ] as const) {
      const headers: Headers = [
        ['x-api-key', apiKey],
        ['authorization', `Bearer ${bearerKey}`],
      ];
      for (const answer of await askBoth(headers)) expect(answer.status).toBe(status);
    }
  });

  test('works until the millisecond of its expiry', async () => {
    const headers: Headers = [['authorization', `Bearer ${expiringKey}`]];
    for (const answer of await askBoth(headers)) expect(answer.status).toBe(200);
    wallMs = expiresAtMs;
    for (const answer of await askBoth(headers)) expect(answer.status).toBe(401);
  });

  test('stops working when it leaves the table, and works again when it returns', async () => {
    const table = tableOf([{ baseUrl: wall.baseUrl }]);
    const other = await startRig(table);
    const status = async (): Promise<number> =>
      (await get(other, '/v1/models', [['x-api-key', testKey]])).status;
    try {
      expect(await status()).toBe(200);
      other.offer({ keys: [] });
      expect(await status()).toBe(401);
      other.offer({ keys: table.keys });
      expect(await status()).toBe(200);
    } finally {
      await other.close();
    }
  });
});

describe('a header that decides must not be sent twice', () => {
  test.each<readonly [string, Headers]>([
    [
      'authorization',
      [
        ['authorization', `Bearer ${testKey}`],
        ['Authorization', `Bearer ${testKey}`],
      ],
    ],
    [
      'authorization',
      [
        ['authorization', `Bearer ${testKey}`],
        ['authorization', ''],
      ],
    ],
    [
      'x-api-key',
      [
        ['x-api-key', testKey],
        ['X-Api-Key', testKey],
      ],
    ],
    [
      'x-api-key',
      [
        ['authorization', `Bearer ${testKey}`],
        ['x-api-key', 'a'],
        ['x-api-key', 'b'],
      ],
    ],
    [
      'content-type',
      [
        ['authorization', `Bearer ${testKey}`],
        ['content-type', 'application/json'],
        ['content-type', 'text/plain'],
      ],
    ],
    [
      'host',
      [
        ['authorization', `Bearer ${testKey}`],
        ['host', 'a'],
        ['host', 'a'],
      ],
    ],
  ])('%s twice: %j', async (name, headers) => {
    const before = wall.calls.length;
    const answers = [...(await askBoth(headers)), await get(rig, '/v1/models', headers)];
    for (const answer of answers) {
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toEqual({
        message: `The header '${name}' was sent twice; send it once.`,
        type: 'invalid_request_error',
        code: 'invalid_parameter',
        param: name,
      });
    }
    expect(wall.calls).toHaveLength(before);
  });

  test('others may be repeated', async () => {
    const headers: Headers = [
      ['authorization', `Bearer ${testKey}`],
      ['accept', 'a/b'],
      ['accept', 'c/d'],
      ['x-trace', '1'],
      ['x-trace', '2'],
    ];
    for (const answer of await askBoth(headers)) expect(answer.status).toBe(200);
  });
});

describe('any bytes at all', () => {
  const view = buildTableView(tableOf([]));

  test('in the two headers are read as a credential, and only the key of the table is accepted', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string().map((text) => `Bearer ${text}`),
      fc.constantFrom(testKey, `Bearer ${testKey}`, `bearer ${testKey} `, ` Bearer ${testKey}`, 'Bearer', ''),
    );
    fc.assert(
      fc.property(fc.option(value), fc.option(value), (authorization, apiKey) => {
        const rawHeaders = [
          ...(authorization === null ? [] : ['Authorization', authorization]),
          ...(apiKey === null ? [] : ['X-API-Key', apiKey]),
        ];
        const isGood = authorization === null ? apiKey === testKey : authorization === `Bearer ${testKey}`;
        const credential = readCredential(readHead(rawHeaders));
        let reported: unknown;
        try {
          authenticate(credential, view, 0);
        } catch (error) {
          reported = error;
        }
        if (isGood) expect(reported).toBeUndefined();
        else
          expect(reported).toSatisfy(
            (error) => error instanceof GatewayError && error.code === 'invalid_api_key',
          );
      }),
      { numRuns: 2_000, seed: 20_261_121 },
    );
  });
});
