// Are the committed bytes of the JSON scan those that its source becomes? The compiler comes from the Python package ziglang.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { buildJsonScan, zigPackage } from '../../tools/build-json-scan.ts';
import { pythonWith } from '../support/python.ts';

const committed = fileURLToPath(new URL('../../gateway/json/json-scan-code.ts', import.meta.url));

test('json-scan-code.ts is the compiled form of json-scan.c', async () => {
  expect(await buildJsonScan(await pythonWith([zigPackage]))).toBe(await readFile(committed, 'utf8'));
});
