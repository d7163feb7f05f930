// Which cluster do tests get that need nodes, and what are they reported where there is none?

import { expect, test } from 'vitest';
import type { NodeCluster } from './cluster.ts';
import { openNodes, type Way } from './open.ts';

function way(name: string, missing?: string): Way & { opened: number } {
  const it = {
    name,
    opened: 0,
    missing: async () => missing,
    async open(): Promise<NodeCluster> {
      it.opened++;
      throw new Error(`${name} was asked`);
    },
  };
  return it;
}

test('the first way that is possible is taken', async () => {
  const ways = [way('own', 'nodes need root'), way('kind'), way('other')];
  await expect(openNodes({}, {}, ways)).rejects.toThrow('kind was asked');
  expect(ways.map(({ opened }) => opened)).toEqual([0, 1, 0]);
});

test('a way that breaks down is not papered over by the next', async () => {
  const ways = [way('own'), way('kind')];
  await expect(openNodes({}, {}, ways)).rejects.toThrow('own was asked');
  expect(ways.map(({ opened }) => opened)).toEqual([1, 0]);
});

test('without any, one sentence names every try, and the remedy', async () => {
  const ways = [way('nodes of our own', 'nodes need root'), way('kind', 'there is no command "kind"')];
  await expect(openNodes({}, {}, ways)).rejects.toThrow(
    /^These tests need a cluster with nodes, and there is none \(nodes of our own: nodes need root; kind: there is no command "kind"\): run them as root on Linux, or install kind, or name a cluster by PENSTOCK_E2E_KUBECONFIG$/,
  );
});

test('a kubeconfig that is named decides, whatever else there is', async () => {
  const ways = [way('own')];
  const opening = openNodes({}, { PENSTOCK_E2E_KUBECONFIG: '/absent/kubeconfig' }, ways);
  await expect(opening).rejects.toThrow('The cluster of /absent/kubeconfig cannot be asked with kubectl');
  expect(ways[0]?.opened).toBe(0);
});
