// Does the script that the guide gives to Argo CD say what our statuses mean? It runs in the interpreter that Argo CD uses.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { run } from '../cluster/run.ts';
import { goTool } from '../support/go-tool.ts';

let glua = '';
let script = '';

beforeAll(async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/guides/gitops.md'), 'utf8');
  script = /```lua\n(.*?)```/s.exec(page)?.[1] ?? '';
  glua = await goTool({ package: 'github.com/yuin/gopher-lua/cmd/glua', version: 'v1.1.1' });
}, 600_000);

const condition = (type: string, status: string, reason = 'Because', message = '') => ({
  type,
  status,
  reason,
  message,
});
const object = (conditions: readonly object[], observedGeneration = 2) => ({
  metadata: { generation: 2 },
  status: { observedGeneration, conditions },
});

test.each([
  ['never seen', { metadata: { generation: 1 } }, 'Progressing', 'has not seen it'],
  ['edited since', object([condition('Ready', 'True')], 1), 'Progressing', 'last edit'],
  ['good', object([condition('Ready', 'True'), condition('Healthy', 'False')]), 'Healthy', ''],
  [
    'waiting for pods',
    object([condition('Ready', 'False', 'Pending', 'waiting for 1 of 3')]),
    'Progressing',
    'waiting for 1 of 3',
  ],
  [
    'wrong, so that only a human helps',
    object([condition('Ready', 'False', 'Invalid'), condition('Stalled', 'True', 'Invalid', 'edit it')]),
    'Degraded',
    'edit it',
  ],
  [
    'suspended',
    object([condition('Ready', 'False', 'Suspended', 'spec.suspended keeps it out')]),
    'Suspended',
    'keeps it out',
  ],
  ['a disabled key', object([condition('Ready', 'False', 'DisabledBySpec', 'off')]), 'Suspended', 'off'],
])('an object that is %s', async (_, obj, status, message) => {
  const program = `local obj = ${lua(obj)}\nlocal hs = (function()\n${script}\nend)()\nprint(hs.status .. "|" .. hs.message)`;
  const { stdout, stderr } = await run(glua, ['-e', program]);
  expect(stderr).toBe('');
  const [said = '', words = ''] = stdout.trim().split('|');
  expect(said).toBe(status);
  expect(words).toContain(message);
});

/** A value as a Lua expression. */
function lua(value: unknown): string {
  if (Array.isArray(value)) return `{ ${value.map(lua).join(', ')} }`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([name, member]) => `[${JSON.stringify(name)}] = ${lua(member)}`)
      .join(', ')} }`;
  }
  return JSON.stringify(value);
}
