// A key can be recognised by its form alone, and no single slip of the hand leaves it well formed.

import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { encodeKey, isWellFormedKey, keyHint } from '../../../operator/resources/key-material.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Every byte value is somewhere in the range, so that no position of the key is a constant. */
const bytes = Uint8Array.from({ length: 32 }, (_, at) => (at * 37 + 11) % 256);
const key = encodeKey('psk_', bytes);

describe('the form of a key', () => {
  test('is the prefix, 43 characters for 256 bits, and a checksum of six', () => {
    expect(key).toMatch(/^psk_[0-9A-Za-z]{49}$/);
    expect(isWellFormedKey('psk_', key)).toBe(true);
  });

  test('is the same for the same bytes: it encodes all of them, and nothing else', () => {
    expect(encodeKey('psk_', bytes)).toBe(key);
    const body = key.slice('psk_'.length, -6);
    const value = [...body].reduce((sum, char) => sum * 62n + BigInt(alphabet.indexOf(char)), 0n);
    expect(value.toString(16).padStart(64, '0')).toBe(Buffer.from(bytes).toString('hex'));
  });

  test.each([
    ['all zero', 0x00],
    ['all one', 0xff],
  ])('has its length also for bytes that are %s', (_what, byte) => {
    const edge = encodeKey('psk_', new Uint8Array(32).fill(byte));
    expect(edge).toHaveLength(53);
    expect(isWellFormedKey('psk_', edge)).toBe(true);
  });

  test('takes the prefix of the installation, and the checksum covers it', () => {
    const other = encodeKey('acme-', bytes);
    expect(isWellFormedKey('acme-', other)).toBe(true);
    expect(isWellFormedKey('psk_', other)).toBe(false);
    expect(isWellFormedKey('psk_', `psk_${other.slice('acme-'.length)}`)).toBe(false);
  });

  test.each([0, 16, 31, 33, 64])('needs more than %i bytes', (length) => {
    expect(() => encodeKey('psk_', new Uint8Array(length))).toThrow(
      new RangeError(`a key takes 32 random bytes, not ${length}`),
    );
  });
});

describe('the checksum', () => {
  test('finds every change of a single character', () => {
    const missed: string[] = [];
    for (let at = 'psk_'.length; at < key.length; at++) {
      for (const char of alphabet) {
        const changed = `${key.slice(0, at)}${char}${key.slice(at + 1)}`;
        if (changed !== key && isWellFormedKey('psk_', changed)) missed.push(changed);
      }
    }
    expect(missed).toEqual([]);
  });

  test('finds swapped neighbours', () => {
    const swapped = Array.from({ length: 48 }, (_, index) => {
      const at = 'psk_'.length + index;
      return `${key.slice(0, at)}${key[at + 1]}${key[at]}${key.slice(at + 2)}`;
    }).filter((changed) => changed !== key);
    expect(swapped.length).toBeGreaterThan(40);
    expect(swapped.filter((changed) => isWellFormedKey('psk_', changed))).toEqual([]);
  });

  test.each([
    ['nothing', ''],
    ['the prefix alone', 'psk_'],
    ['a key without its last character', key.slice(0, -1)],
    ['a key with one more', `${key}0`],
    ['a key with a space behind it', `${key} `],
    ['a key in capitals', key.toUpperCase()],
    ['another prefix', key.replace('psk_', 'sk-_')],
  ])('fails for %s', (_what, text) => {
    expect(isWellFormedKey('psk_', text)).toBe(false);
  });
});

test('1,000 keys of random bytes are 1,000 different keys, each well formed', () => {
  const keys = Array.from({ length: 1_000 }, () => encodeKey('psk_', randomBytes(32)));
  expect(new Set(keys).size).toBe(1_000);
  expect(keys.filter((each) => !isWellFormedKey('psk_', each))).toEqual([]);
});

test('the hint shows the prefix and the last four characters, and no more', () => {
  expect(keyHint('psk_', key)).toBe(`psk_…${key.slice(-4)}`);
});
