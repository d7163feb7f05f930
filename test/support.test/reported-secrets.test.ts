// Would a process that shows a secret be noticed, whichever test started it?

import { expect, test } from 'vitest';
import { tableOf } from '../gateway/rig.ts';
import { startProcess } from '../support/process.ts';
import { takeReported } from '../support/reported-secrets.ts';

async function write(text: string, showsKey = false): Promise<readonly string[]> {
  const child = await startProcess('-e', {
    args: ['process.stderr.write(process.argv[1] ?? "")', text],
    showsKey,
  });
  await child.exit;
  return takeReported();
}

test('the key of a caller is noticed by its form, and is not in the report', async () => {
  const key = `psk_${'a1B2c3D'.repeat(7)}`;
  expect(await write(`{"authorization":"Bearer ${key}"}`)).toEqual(['-e reported the key of a caller']);
  expect(await write(`the key is ${key}`, true)).toEqual([]);
  expect(await write(`the key is ${key.slice(0, 12)}…`)).toEqual([]);
});

test('the credential of a provider of any table is noticed, and is not in the report', async () => {
  tableOf([{ baseUrl: 'http://127.0.0.1:1/v1', keys: { main: 'sk-of-this-test-alone' } }]);
  expect(await write('401: bad key sk-of-this-test-alone')).toEqual([
    '-e reported the credential of a provider',
  ]);
  expect(await write('401: bad key')).toEqual([]);
});
