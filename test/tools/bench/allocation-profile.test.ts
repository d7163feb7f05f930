// Which functions allocated, out of a profile of V8's sampling heap profiler.

import { expect, test } from 'vitest';
import { selfBytes } from '../../../tools/bench/allocation-profile.ts';
import { functionOf, partOf } from '../../../tools/bench/self-times.ts';

const node = (functionName: string, url: string, selfSize: number, children: Node[] = []): Node => ({
  callFrame: { functionName, url, lineNumber: 8 },
  selfSize,
  children,
});
type Node = Parameters<typeof selfBytes>[0];

const head = node('(root)', '', 0, [
  node('serve', 'file:///a/gateway/pipeline/call.ts', 100, [node('write', 'node:net', 600)]),
  node('read', 'file:///a/gateway/pipeline/read.ts', 300),
]);

test('bytes are those that a function allocated itself, the largest first', () => {
  expect(selfBytes(head, functionOf)).toEqual([
    { name: 'write  node:net:9', bytes: 600, share: 0.6 },
    { name: 'read  gateway/pipeline/read.ts:9', bytes: 300, share: 0.3 },
    { name: 'serve  gateway/pipeline/call.ts:9', bytes: 100, share: 0.1 },
    { name: '(root)', bytes: 0, share: 0 },
  ]);
});

test('bytes of one part of the program are added up', () => {
  expect(selfBytes(head, partOf).slice(0, 2)).toEqual([
    { name: 'node', bytes: 600, share: 0.6 },
    { name: 'gateway/pipeline', bytes: 400, share: 0.4 },
  ]);
});
