// A run that has begun to build nodes and says so; its test kills it.

import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPause, pauseImage } from '../../cluster/nodes/images.ts';
import { makeNode } from '../../cluster/nodes/node.ts';
import { makeRunName } from '../../cluster/nodes/run-name.ts';
import { openSpace } from '../../cluster/nodes/space.ts';
import { marksOf } from '../../cluster/nodes/traces.ts';

const runName = makeRunName();
const folder = join(tmpdir(), runName);
await mkdir(folder);
const init = await buildPause(folder);
const space = await openSpace({
  name: 'node-1',
  folder: join(folder, 'node-1'),
  init,
  hasOwnProcesses: true,
});
const node = makeNode(
  { space, index: 1, cgroup: `${runName}/node-1`, pauseImage, heartbeatSeconds: 1 },
  () => {
    throw new Error('this run has no control plane');
  },
);
await node.containerd.start();
const { namespaces, seenAt } = await marksOf(runName, [space.pid]);
process.stdout.write(`${JSON.stringify({ runName, namespaces: [...namespaces], seenAt })}\n`);
