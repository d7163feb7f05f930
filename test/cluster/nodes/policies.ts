// How does a node hold NetworkPolicies? iptables hands the first packet of each connection to a queue, and a program of the node says
// of each whether it may pass. While nobody listens to the queue, no connection of a pod comes about.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { goProgram } from '../../support/go-tool.ts';
import { untilReady } from '../child.ts';
import { makeServer, type Server } from './server.ts';
import type { Space } from './space.ts';

const queue = '100';

const rules = [
  // Policies are about who begins.
  ['-m', 'conntrack', '--ctstate', 'ESTABLISHED,RELATED', '-j', 'ACCEPT'],
  // What the node itself sends, such as probes of its kubelet.
  ['-m', 'addrtype', '--src-type', 'LOCAL', '-j', 'ACCEPT'],
  ['-j', 'NFQUEUE', '--queue-num', queue],
];

/** `kubeconfig`: path of one inside. */
export function makePolicyServer(space: Space, kubeconfig: () => string): Server {
  const logFile = join(space.folder, 'network-policies.log');
  return makeServer(`NetworkPolicies of ${space.name}`, async () => {
    const folder = fileURLToPath(new URL('policies/', import.meta.url));
    const program = await goProgram({ name: 'network-policies', folder });
    await space.mustRun('iptables', ['-t', 'mangle', '-F', 'POSTROUTING']);
    // Behind the change of a Service's address into that of a pod, and before the sender's is changed.
    for (const rule of rules) await space.mustRun('iptables', ['-t', 'mangle', '-A', 'POSTROUTING', ...rule]);
    const flags = [`--kubeconfig=${kubeconfig()}`, `--node=${space.name}`, `--queue=${queue}`];
    const child = await space.start(program, flags, logFile);
    await untilReady('network-policies', child, logFile, async () => {
      const { stdout } = await space.run('cat', ['/run/outer/self/net/netfilter/nfnetlink_queue']);
      return stdout.trim().startsWith(`${queue} `);
    });
    return child;
  });
}
