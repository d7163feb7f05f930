// Does the short pass hold on the oldest Kubernetes that the chart takes?

import { beforeAll } from 'vitest';
import { findNodePrograms, oldestKubernetes } from '../../cluster/nodes/programs.ts';
import { startNodes } from '../../cluster/nodes/start.ts';
import { describePass } from '../short/pass.ts';

const hourMs = 60 * 60_000;

// The first time they are built: all of the control plane and the nodes.
beforeAll(() => findNodePrograms(oldestKubernetes, { say: (line) => console.info(line) }), hourMs);

describePass({
  open: (options) => startNodes({ ...options, kubernetes: oldestKubernetes }),
  isOwn: true,
  kubernetes: oldestKubernetes,
});
