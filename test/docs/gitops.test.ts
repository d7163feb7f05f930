// Does the script that the guide gives to Argo CD say what our statuses mean, as kstatus does? It runs in the interpreter that
// Argo CD uses.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Verdict } from '../../operator/compile/verdict.ts';
import { rootSchema } from '../../operator/resources/crd.ts';
import { modelRouteResource } from '../../operator/resources/model-route.ts';
import type { RawObject } from '../../operator/watch/snapshot.ts';
import { run } from '../cluster/run.ts';
import { apiKey, provider, secret } from '../operator/make.ts';
import { fleet, judge, look, runs, withStatus, written } from '../operator/status/status-support.ts';
import { buildWaitMs } from '../support/go-build.ts';
import { goTool } from '../support/go-tool.ts';
import { type KStatus, kstatusOf } from '../support/kstatus.ts';

let glua = '';
let script = '';

beforeAll(async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/guides/gitops.md'), 'utf8');
  script = /```lua\n(.*?)```/s.exec(page)?.[1] ?? '';
  glua = await goTool({ package: 'github.com/yuin/gopher-lua/cmd/glua', version: 'v1.1.1' });
}, buildWaitMs);

const PROVIDER = provider({}, { generation: 3 });
const SUSPENDED = provider({ suspended: true }, { generation: 3 });
const WRONG = provider({ type: 'No' }, { generation: 3 });
const DISABLED = apiKey({ disabled: true }, { generation: 3 });
const secrets = [secret()];

const read = (object: RawObject, verdict: Verdict, pods = fleet(runs(7), runs(7))) =>
  withStatus(object, written(look(object, verdict, { pods, waitingSinceMs: 0 })));
const good = read(PROVIDER, judge('Provider', { providers: [PROVIDER], secrets }));

test.each<readonly [string, unknown, string, KStatus, string]>([
  [
    'that no operator has seen',
    { ...PROVIDER, status: rootSchema(modelRouteResource).properties?.status?.default },
    'Progressing',
    'InProgress',
    'has not processed',
  ],
  ['that is good', good, 'Healthy', 'Current', ''],
  [
    'that was edited since',
    { ...good, metadata: { ...good.metadata, generation: 4 } },
    'Progressing',
    'InProgress',
    'last edit',
  ],
  [
    'that waits for pods',
    read(PROVIDER, judge('Provider', { providers: [PROVIDER], secrets }), fleet(runs(7), runs(6))),
    'Progressing',
    'InProgress',
    '1/2 gateway pods; pod b',
  ],
  [
    'that names what may still come',
    read(PROVIDER, judge('Provider', { providers: [PROVIDER] })),
    'Progressing',
    'InProgress',
    'does not exist',
  ],
  [
    'that is wrong',
    read(WRONG, judge('Provider', { providers: [WRONG], secrets })),
    'Degraded',
    'Failed',
    'spec.type',
  ],
  [
    'that serves in an earlier form, since the present one is wrong',
    {
      ...good,
      status: { observedGeneration: 3, conditions: [condition('Ready'), condition('Stalled', 'edit it')] },
    },
    'Degraded',
    'Failed',
    'edit it',
  ],
  [
    'that is suspended',
    read(SUSPENDED, judge('Provider', { providers: [SUSPENDED], secrets })),
    'Suspended',
    'Current',
    'spec.suspended',
  ],
  [
    'that is disabled',
    read(DISABLED, judge('ApiKey', { apiKeys: [DISABLED] })),
    'Suspended',
    'Current',
    'spec.disabled',
  ],
])('an object %s', async (_, obj, status, kstatus, message) => {
  const program = `local obj = ${lua(obj)}\nlocal hs = (function()\n${script}\nend)()\nprint(hs.status .. "|" .. hs.message)`;
  const { stdout, stderr } = await run(glua, ['-e', program]);
  expect(stderr).toBe('');
  const [said = '', words = ''] = stdout.trim().split('|');
  expect(said).toBe(status);
  expect(words).toContain(message);
  expect(kstatusOf(obj)).toBe(kstatus);
});

function condition(type: string, message = '') {
  return { type, status: 'True', reason: 'Because', message };
}

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
