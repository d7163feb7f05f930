// Which ports of the release can a pod of another namespace connect to, as its network holds NetworkPolicies?

import { z } from 'zod';
import type { NodeCluster } from '../../cluster/nodes/cluster.ts';
import { inRelease } from '../nodes/release.ts';

export interface Door {
  readonly component: string;
  /** By its name in the pod. */
  readonly port: string;
}

const podsSchema = z.object({
  items: z
    .array(
      z.object({
        status: z.object({ podIP: z.string() }),
        spec: z.object({
          containers: z.tuple(
            [
              z.object({
                image: z.string(),
                ports: z.array(z.object({ name: z.string(), containerPort: z.int() })),
              }),
            ],
            z.unknown(),
          ),
        }),
      }),
    )
    .min(1),
});

/** Asked of one pod of each component, all at once. */
export async function doorsOpenTo(
  cluster: NodeCluster,
  namespace: string,
  doors: readonly Door[],
): Promise<string[]> {
  const asked: { name: string; host: string; port: number }[] = [];
  let image = '';
  for (const { component, port } of doors) {
    const selector = [
      '-l',
      `app.kubernetes.io/component=${component}`,
      '--field-selector=status.phase=Running',
    ];
    const pods = await cluster.mustKubectl(['get', 'pods', ...inRelease, ...selector, '-o', 'json']);
    const [pod] = podsSchema.parse(JSON.parse(pods)).items;
    const [container] = pod?.spec.containers ?? [];
    const number = container?.ports.find(({ name }) => name === port)?.containerPort;
    if (pod === undefined || container === undefined || number === undefined)
      throw new Error(`no pod of ${component} has a port ${port}`);
    image = container.image;
    asked.push({ name: `${component} ${port}`, host: pod.status.podIP, port: number });
  }
  const name = 'doors';
  await cluster.mustKubectl([
    ...[
      'run',
      name,
      '-n',
      namespace,
      `--image=${image}`,
      '--image-pull-policy=IfNotPresent',
      '--restart=Never',
    ],
    ...['--command', '--', 'node', '-e', connectToAll, JSON.stringify(asked)],
  ]);
  try {
    const done = '--for=jsonpath={.status.phase}=Succeeded';
    await cluster.mustKubectl(['wait', `pod/${name}`, '-n', namespace, done, '--timeout=60s'], {
      timeoutMs: 70_000,
    });
    return z.array(z.string()).parse(JSON.parse(await cluster.mustKubectl(['logs', name, '-n', namespace])));
  } finally {
    await cluster.mustKubectl(['delete', 'pod', name, '-n', namespace, '--now']);
  }
}

/** A packet that a network drops is answered by nobody. */
const connectToAll = `
const { connect } = require('node:net');
const opens = ({ host, port }) => new Promise((resolve) => {
  const trying = connect({ host, port });
  const end = (isOpen) => { trying.destroy(); resolve(isOpen); };
  trying.setTimeout(4_000, () => end(false)).on('connect', () => end(true)).on('error', () => end(false));
});
const doors = JSON.parse(process.argv[1]);
Promise.all(doors.map(opens)).then((open) =>
  console.log(JSON.stringify(doors.filter((_, index) => open[index]).map(({ name }) => name))));
`;
