// Does the short pass hold on the oldest Kubernetes that the chart takes?

import { oldestKubernetes } from '../../cluster/nodes/programs.ts';
import { startNodes } from '../../cluster/nodes/start.ts';
import { describePass } from '../short/pass.ts';

describePass({
  open: (options) => startNodes({ ...options, kubernetes: oldestKubernetes }),
  isOwn: true,
  kubernetes: oldestKubernetes,
});
