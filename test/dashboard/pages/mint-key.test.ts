// Does a key that a browser makes look as one that the operator makes?

import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mintKey } from '../../../dashboard/pages/keys/mint-key.ts';
import { encodeKey, isWellFormedKey, keyHint } from '../../../operator/resources/key-material.ts';

const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });

test('a key equals that of the operator for the same random bytes', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, fc.constantFrom('psk_', 'acme-', 'x'), async (random, prefix) => {
      const { key } = await mintKey(prefix, random);
      expect(key).toBe(encodeKey(prefix, random));
      expect(isWellFormedKey(prefix, key)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test('only the SHA-256 of a key is sent, and the hint that the operator would show', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, async (random) => {
      const { key, sha256, hint } = await mintKey('psk_', random);
      expect(sha256).toBe(hash('sha256', key, 'hex'));
      expect(hint).toBe(keyHint('psk_', key));
    }),
    { numRuns: 20 },
  );
});

test('fewer random bytes than a key takes are refused', async () => {
  await expect(mintKey('psk_', new Uint8Array(31))).rejects.toThrow('a key takes 32 random bytes, not 31');
});
