// What holds of sessions by themselves, whatever is in them? Sealing, ends, pieces of cookies, attempts.

import { hash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { CompactEncrypt } from 'jose';
import { describe, expect, test } from 'vitest';
import { placeOf } from '../../dashboard/guard/places.ts';
import { cookieName, joinPieces, piecesOf, SEALED_CHARS_MAX } from '../../dashboard/session/cookies.ts';
import { openEndedSessions } from '../../dashboard/session/ended.ts';
import { openLiveStreams } from '../../dashboard/session/live.ts';
import { openSealer } from '../../dashboard/session/seal.ts';
import {
  isTokenText,
  namespaceOf,
  newSession,
  TOKENS_CHARS_MAX,
  tokenEndMs,
} from '../../dashboard/session/session.ts';
import { openSignInLimiter } from '../../dashboard/session/sign-in-limiter.ts';
import { makeFakeClock } from '../support/fake-clock.ts';

describe('a sealed value', () => {
  const keys = [randomBytes(32), randomBytes(32)];

  test('opens unchanged, for its purpose and with its key alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.record({ token: fc.string(), more: fc.jsonValue() }), async (value) => {
        const sealer = openSealer(keys);
        const sealed = await sealer.seal('session', value);
        expect(await sealer.open('session', sealed)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(await sealer.open('sign-in', sealed)).toBeUndefined();
        expect(await openSealer([]).open('session', sealed)).toBeUndefined();
      }),
      { numRuns: 30 },
    );
  });

  test('does not open after a change of one character', async () => {
    const sealer = openSealer(keys);
    const sealed = await sealer.seal('session', { token: 'x'.repeat(50) });
    const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';
    await fc.assert(
      fc.asyncProperty(
        fc.nat(sealed.length - 1),
        fc.constantFrom(...characters),
        async (index, character) => {
          const changed = sealed.slice(0, index) + character + sealed.slice(index + 1);
          // The last character of a base64 text has bits that say nothing.
          const isSame = changed.split('.').every((part, at) => sameBytes(part, sealed.split('.')[at]));
          fc.pre(!isSame);
          expect(await sealer.open('session', changed)).toBeUndefined();
        },
      ),
      { numRuns: 150 },
    );
  });

  test('opens while its key is the second one, and not after the key was removed', async () => {
    const [old, young] = [randomBytes(32), randomBytes(32)];
    const sealed = await openSealer([old]).seal('session', { a: 1 });
    expect(await openSealer([young, old]).open('session', sealed)).toEqual({ a: 1 });
    expect(await openSealer([young]).open('session', sealed)).toBeUndefined();
    const later = await openSealer([young, old]).seal('session', { a: 2 });
    expect(await openSealer([old]).open('session', later)).toBeUndefined();
  });

  test('has room for an id token of 9 KB and a refresh token of 5 KB, within the cookie and header limits of browsers and servers', async () => {
    const claims = { exp: 9e9, sub: 'ada', groups: randomText(6_600) };
    const token = `${randomText(50)}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${randomText(342)}`;
    const session = newSession({ token, refreshToken: randomText(5 * 1_024) }, Date.now(), 3_600_000);
    expect(token.length).toBeGreaterThan(9 * 1_024);
    expect(session.refreshToken).toBeDefined();
    const sealer = openSealer(keys);
    const sealed = await sealer.seal('session', session);
    const pieces = piecesOf('__Host-penstock-session', sealed, {});
    for (const [name, value = ''] of pieces) expect(name.length + value.length).toBeLessThan(4_000);
    const header = pieces
      .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
      .join('; ');
    expect(header.length).toBeLessThan(15_500);
    expect(
      await sealer.open('session', joinPieces('__Host-penstock-session', Object.fromEntries(pieces)) ?? ''),
    ).toEqual(session);
  });

  test('is small for repetitive content, such as the groups of a token', async () => {
    const groups = Array.from({ length: 200 }, (_, index) => `/platform/teams/team-${index}/members`);
    const token = `e30.${Buffer.from(JSON.stringify({ groups })).toString('base64url')}.x`;
    const sealed = await openSealer(keys).seal('session', newSession({ token }, 0, 1));
    expect(token.length).toBeGreaterThan(9_000);
    expect(sealed.length).toBeLessThan(4_000);
  });

  test('of a version without compression opens too', async () => {
    const [key = randomBytes(32)] = keys;
    const kid = hash('sha256', Buffer.concat([Buffer.from('penstock dashboard key id '), key]), 'hex').slice(
      0,
      16,
    );
    const sealed = await new CompactEncrypt(Buffer.from('{"a":1}'))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid, typ: 'session' })
      .encrypt(key);
    expect(await openSealer(keys).open('session', sealed)).toEqual({ a: 1 });
  });

  test('is split into cookies that browsers accept, and is read back unchanged', async () => {
    const longest = newSession({ token: randomText(TOKENS_CHARS_MAX) }, 0, 1);
    expect((await openSealer(keys).seal('session', longest)).length).toBeLessThan(SEALED_CHARS_MAX);
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: SEALED_CHARS_MAX, size: 'max' }), (sealed) => {
        const pieces = piecesOf('name', sealed, {});
        for (const [name, value = ''] of pieces) expect(name.length + value.length).toBeLessThan(3_700);
        const cookies = Object.fromEntries(pieces);
        expect(joinPieces('name', cookies)).toBe(sealed);
        // A shorter one takes the place of all pieces, and nothing is left of them at the end.
        const after = { ...cookies, ...Object.fromEntries(piecesOf('name', 'short', cookies)) };
        expect(joinPieces('name', after)).toBe('short');
        expect(Object.values(Object.fromEntries(piecesOf('name', undefined, cookies)))).toEqual(
          pieces.map(() => undefined),
        );
      }),
      { numRuns: 50 },
    );
  });
});

test.each([
  ['https://penstock.example.com:8443', '__Host-penstock-session'],
  ['http://localhost', 'penstock-session-80'],
  ['http://localhost:8090', 'penstock-session-8090'],
  ['http://127.0.0.1:8081', 'penstock-session-8081'],
  ['http://[::1]:9', 'penstock-session-9'],
  ['http://[::1]', 'penstock-session-80'],
])('the cookie of %s is %s: dashboards on several ports of one machine share cookies', (url, name) => {
  expect(cookieName('session', placeOf(new URL(url)))).toBe(name);
});

/** As tokens are written; nothing in it comes twice. */
function randomText(length: number): string {
  return randomBytes(length).toString('base64url').slice(0, length);
}

function sameBytes(one: string, other = ''): boolean {
  return Buffer.from(one, 'base64url').equals(Buffer.from(other, 'base64url'));
}

describe('a session', () => {
  const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;

  test('ends with its token, or at its own time limit', () => {
    expect(newSession({ token: 'opaque' }, 1_000, 60_000).expiresAtMs).toBe(61_000);
    expect(newSession({ token: jwt({ exp: 30 }) }, 1_000, 60_000).expiresAtMs).toBe(30_000);
    expect(newSession({ token: jwt({ exp: 90 }) }, 1_000, 60_000).expiresAtMs).toBe(61_000);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.jsonValue().map((value) => jwt({ exp: value })),
        ),
        (token) => {
          const endMs = tokenEndMs(token);
          expect(newSession({ token }, 0, 5).expiresAtMs).toBeLessThanOrEqual(Math.min(5, endMs ?? 5));
        },
      ),
    );
  });

  test('outlives its token if there is a refresh token, and cookies have room for both', async () => {
    const token = jwt({ exp: 30 });
    const ends = (refreshToken: string, of = token) =>
      newSession({ token: of, refreshToken }, 1_000, 60_000).expiresAtMs;
    expect(ends('refresh')).toBe(61_000);
    // Of a token that does not say when it ends nobody knows when the next one is due.
    expect(newSession({ token: 'opaque', refreshToken: 'x' }, 0, 1)).not.toHaveProperty('refreshToken');
    const longest = randomText(TOKENS_CHARS_MAX - token.length);
    const session = newSession({ token, refreshToken: longest }, 1_000, 60_000);
    expect(session).toMatchObject({ refreshToken: longest, expiresAtMs: 61_000 });
    const sealed = await openSealer([]).seal('session', { ...session, issuedAtMs: 9e12, expiresAtMs: 9e12 });
    expect(sealed.length).toBeLessThan(SEALED_CHARS_MAX);
    expect(newSession({ token, refreshToken: `${longest}x` }, 1_000, 60_000)).toEqual({
      ...{ id: expect.any(String), csrf: expect.any(String), token },
      ...{ issuedAtMs: 1_000, expiresAtMs: 30_000 },
    });
  });

  test('has a new id and a new CSRF header each time', () => {
    const made = Array.from({ length: 100 }, () => newSession({ token: 'x' }, 0, 1)).flatMap(
      ({ id, csrf }) => [id, csrf],
    );
    expect(new Set(made).size).toBe(200);
    expect(made.every((text) => text.length === 22)).toBe(true);
  });

  test('contains only characters that a header can carry, and names its namespace', () => {
    for (const text of ['', 'a b', 'a\n', 'é', 'a\u0000']) expect(isTokenText(text), text).toBe(false);
    expect(isTokenText('eyJ.a-b_c.~+/=')).toBe(true);
    expect(namespaceOf('system:serviceaccount:team-a:bot')).toBe('team-a');
    for (const name of ['ada', 'system:serviceaccount:team-a', 'x:system:serviceaccount:a:b'])
      expect(namespaceOf(name), name).toBeNull();
  });

  test('stays ended until its expiry, with little memory for any number of ended sessions', () => {
    const at = fc.record({ id: fc.nat(60), issued: fc.nat(50), lasts: fc.integer({ min: 1, max: 50 }) });
    fc.assert(
      fc.property(fc.array(at, { maxLength: 80 }), fc.integer({ min: 1, max: 10 }), (ends, max) => {
        let nowMs = 0;
        const sessions = openEndedSessions(() => nowMs, max);
        const ended: { id: string; issuedAtMs: number; expiresAtMs: number }[] = [];
        for (const [index, { id, issued, lasts }] of ends.entries()) {
          nowMs = index;
          const session = { id: String(id), issuedAtMs: issued, expiresAtMs: nowMs + lasts };
          sessions.end(session);
          ended.push(session);
          expect(ended.every((one) => sessions.isOver(one))).toBe(true);
        }
        // One that begins later is not touched by it.
        const late = { id: 'late', issuedAtMs: 1_000, expiresAtMs: 2_000 };
        expect(sessions.isOver(late)).toBe(false);
      }),
    );
  });

  test('ends its streams with it, and has a limit of streams', () => {
    const live = openLiveStreams();
    const ended: number[] = [];
    const takeOffs = Array.from({ length: 8 }, (_, index) => live.add({ id: 'a' }, () => ended.push(index)));
    expect(live.add({ id: 'a' }, () => {})).toBeUndefined();
    expect(live.add({ id: 'b' }, () => {})).toBeDefined();
    takeOffs[0]?.();
    takeOffs[0]?.();
    live.end({ id: 'a' });
    expect(ended).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(live.add({ id: 'a' }, () => {})).toBeDefined();
  });
});

describe('attempts to sign in', () => {
  const bounds = { perAddress: 10, all: 40, rememberedMax: 100 };
  const guess = (address: string, token = 'a guess') => ({ address, token });

  test('are limited by a token bucket, per address and in total', () => {
    const step = fc.record({ address: fc.nat(8), waitMs: fc.nat(20_000), isGood: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const clock = makeFakeClock();
        const limiter = openSignInLimiter({ now: clock.now, wallMs: () => 0 }, bounds);
        const failed = new Map<string, number>();
        let all = 0;
        const good = new Set<string>();
        for (const [index, { address, waitMs, isGood }] of steps.entries()) {
          clock.advance(waitMs);
          const from = `192.0.2.${address}`;
          const attempt = guess(from, `token ${index}`);
          if (limiter.attempt(attempt) !== undefined) continue;
          if (isGood) {
            limiter.succeeded(attempt);
            good.add(from);
          } else {
            failed.set(from, (failed.get(from) ?? 0) + 1);
            if (!good.has(from)) all += 1;
          }
          const minutes = clock.now() / 60_000;
          expect(failed.get(from) ?? 0).toBeLessThanOrEqual(bounds.perAddress * (1 + minutes) + 1e-6);
          expect(all).toBeLessThanOrEqual(bounds.all * (1 + minutes) + 1e-6);
        }
      }),
    );
  });

  test('that succeed are not limited, and the announced wait is long enough', () => {
    const clock = makeFakeClock();
    const limiter = openSignInLimiter({ now: clock.now, wallMs: () => 0 }, bounds);
    for (let count = 0; count < 1_000; count += 1) {
      expect(limiter.attempt(guess('192.0.2.1', 'good'))).toBeUndefined();
      limiter.succeeded(guess('192.0.2.1', 'good'));
    }
    for (let count = 0; count < 10; count += 1) limiter.attempt(guess('192.0.2.1'));
    const waitSeconds = limiter.attempt(guess('192.0.2.1')) ?? 0;
    expect(waitSeconds).toBe(6);
    clock.advance(waitSeconds * 1_000);
    expect(limiter.attempt(guess('192.0.2.1'))).toBeUndefined();
  });

  test('from one IPv6 network are counted together', () => {
    const limiter = openSignInLimiter({ now: () => 0, wallMs: () => 0 }, bounds);
    for (let count = 0; count < 10; count += 1)
      expect(limiter.attempt(guess(`2001:db8:1:2::${count}`))).toBeUndefined();
    expect(limiter.attempt(guess('2001:db8:1:2:ffff::1'))).toBe(6);
    expect(limiter.attempt(guess('2001:db8:1:3::1'))).toBeUndefined();
  });

  test('from ever new addresses use bounded memory', () => {
    const limiter = openSignInLimiter(
      { now: () => 0, wallMs: () => 0 },
      { ...bounds, all: 1e9, rememberedMax: 3 },
    );
    for (let count = 0; count < 10; count += 1) limiter.attempt(guess('10.0.0.1'));
    expect(limiter.attempt(guess('10.0.0.1'))).toBeDefined();
    // Three others came since, so it is forgotten.
    for (const address of ['10.0.0.2', '10.0.0.3', '10.0.0.4']) limiter.attempt(guess(address));
    expect(limiter.attempt(guess('10.0.0.1'))).toBeUndefined();
  });

  describe('with wrong tokens do not lock other users out', () => {
    const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
    const issuer = 'https://login.example.com';
    const likely = jwt({ iss: issuer, exp: 1_000 });
    const [person, attacker] = ['192.0.2.1', '198.51.100.1'];

    function open() {
      const clock = makeFakeClock();
      const limiter = openSignInLimiter({ now: clock.now, wallMs: clock.now, issuer }, bounds);
      const guessUntilRefused = (address: string, token = 'a guess'): void => {
        for (let count = 0; count < 20; count += 1) limiter.attempt({ address, token });
      };
      return { clock, limiter, guessUntilRefused };
    }

    test('with a token that worked before are admitted, from the same address and a day later', () => {
      const { clock, limiter, guessUntilRefused } = open();
      limiter.succeeded(guess(person, 'good'));
      clock.advance(24 * 3_600_000 - 1);
      guessUntilRefused(person);
      expect(limiter.attempt(guess(person, 'good'))).toBeUndefined();
      expect(limiter.attempt(guess(attacker, 'good'))).toBeUndefined();
      clock.advance(1);
      guessUntilRefused(person);
      expect(limiter.attempt(guess(person, 'good'))).toBeGreaterThan(0);
    });

    test('with a token that worked before and now fails are limited by themselves', () => {
      const { limiter, guessUntilRefused } = open();
      limiter.succeeded(guess(person, 'good'));
      limiter.succeeded(guess(person, 'other'));
      guessUntilRefused(person, 'good');
      expect(limiter.attempt(guess(person, 'other'))).toBeUndefined();
    });

    test.each<[string, string, boolean]>([
      ['of the issuer of the settings', likely, true],
      ['of an issuer whose token was good', jwt({ iss: 'https://kubernetes', exp: 1_000 }), true],
      ['of an unknown issuer', jwt({ iss: 'https://other.example', exp: 1_000 }), false],
      ['whose time has passed', jwt({ iss: issuer, exp: -1 }), false],
      ['that says nothing of its end', jwt({ iss: issuer }), false],
      ['that is none', 'opaque', false],
    ])('with a JWT %s are judged by its claims', (_what, token, isLetThrough) => {
      const { limiter, guessUntilRefused } = open();
      limiter.succeeded(guess(attacker, jwt({ iss: 'https://kubernetes', exp: 900 })));
      guessUntilRefused(person);
      expect(limiter.attempt({ address: person, token }) === undefined).toBe(isLetThrough);
    });

    test('with such tokens are limited too, per address and in total', () => {
      const { limiter } = open();
      const admitted = (address: string): number => {
        const tries = Array.from({ length: 20 }, (_, count) => jwt({ iss: issuer, exp: 1_000, count }));
        return tries.filter((token) => limiter.attempt({ address, token }) === undefined).length;
      };
      expect([1, 2, 3, 4, 5].map((at) => admitted(`192.0.2.${at}`))).toEqual([10, 10, 10, 10, 0]);
    });

    test('of a person returning from the issuer are admitted', () => {
      const { limiter, guessUntilRefused } = open();
      guessUntilRefused(person);
      guessUntilRefused(person, likely);
      expect(limiter.attempt({ address: person, token: undefined })).toBeUndefined();
    });

    test('from an address with an earlier sign-in are admitted: new addresses wait first', () => {
      const { limiter, guessUntilRefused } = open();
      limiter.succeeded(guess(person, 'good'));
      for (let at = 1; at <= 4; at += 1) guessUntilRefused(`198.51.100.${at}`);
      expect(limiter.attempt(guess('203.0.113.1'))).toBeGreaterThan(0);
      expect(limiter.attempt(guess(person, 'another'))).toBeUndefined();
    });
  });
});
