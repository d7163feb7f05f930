// Does the short pass hold on the nodes that there are, and does a run that is killed leave nothing to the next?

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { isOwn, openNodes } from '../../cluster/nodes/open.ts';
import { removeLeftovers, tracesOf } from '../../cluster/nodes/traces.ts';
import { startProcess } from '../../support/process.ts';
import { describePass } from './pass.ts';

const ownNodes = await isOwn();

describePass({ open: openNodes, isOwn: ownNodes });

// What only the owner of the nodes can do has no test elsewhere.
if (ownNodes)
  test('leftovers of a killed run end or are removed by the next run', async () => {
    const run = await startProcess(join(import.meta.dirname, 'killed-run.ts'));
    const { runName, namespaces, seenAt } = killedRun.parse(JSON.parse(await run.line(/^\{/)));
    const left = () => tracesOf(runName, { namespaces: new Set(namespaces), seenAt });
    const before = (await left()).join('\n');
    for (const kind of ['process', 'cgroup', 'file']) expect(before).toMatch(new RegExp(`^${kind}`, 'm'));
    run.signal('SIGKILL');
    await run.exit;
    const running = async () => (await left()).filter((trace) => /^(process|mount)/.test(trace));
    await expect.poll(running, { timeout: 20_000 }).toEqual([]);
    await removeLeftovers();
    expect(await left()).toEqual([]);
  });

const killedRun = z.object({ runName: z.string(), namespaces: z.array(z.string()).min(1), seenAt: z.int() });
