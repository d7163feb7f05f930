// Are checks, reasons and their documentation one and the same list?

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CONDITIONS, REASONS } from '../../../core/catalog/conditions.ts';

const FOLDER = join(import.meta.dirname, '../../../operator/compile/checks');
/** Words that several checks share; no checks themselves. */
const SHARED = ['secret-use', 'target-use'];
/** A check that tells one more way to be wrong, under a reason that another check is named after. */
const UNDER_ANOTHER_NAME: Readonly<Record<string, string>> = {
  'aws-credentials-invalid': 'SecretValueInvalid',
  'ca-not-found': 'CANotFound',
  'header-twice': 'Invalid',
  'secret-of-namesake': 'SecretPending',
  'tls-without-https': 'Invalid',
};

const checks = readdirSync(FOLDER)
  .map((file) => file.replace(/\.ts$/, ''))
  .filter((name) => !SHARED.includes(name));

const reasonOf = (name: string) =>
  UNDER_ANOTHER_NAME[name] ??
  name
    .split('-')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

test.each(checks)('%s gives the reason of its name, which is documented', (name) => {
  const reason = reasonOf(name);
  expect(Object.keys(REASONS)).toContain(reason);
  const given = [...readFileSync(join(FOLDER, `${name}.ts`), 'utf8').matchAll(/reason: '(\w+)'/g)].map(
    ([, text]) => text,
  );
  expect(new Set(given)).toEqual(new Set([reason]));
});

test('every condition has a reason, and every reason has an existing condition', () => {
  const used = new Set(Object.values(REASONS).flatMap(({ conditions }) => conditions as readonly string[]));
  // These two have the reason of Ready.
  for (const type of ['Reconciling', 'Stalled']) used.add(type);
  const without = Object.keys(CONDITIONS).filter((type) => !used.has(type));
  expect(without).toEqual([]);
  expect([...used].filter((type) => !Object.hasOwn(CONDITIONS, type))).toEqual([]);
});
