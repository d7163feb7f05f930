// Where the CPU went, out of a V8 profile.

import { describe, expect, test } from 'vitest';
import { partOf, selfTimes, shareOfPart } from '../../../tools/bench/self-times.ts';

describe('a CPU profile', () => {
  const frame = (functionName: string, url = '', lineNumber = 0) => ({
    callFrame: { functionName, url, lineNumber },
  });
  const nodes = [
    { id: 1, ...frame('(idle)') },
    { id: 2, ...frame('start', 'file:///a/b/c/start.ts', 9) },
    { id: 3, ...frame('scan', 'file:///a/b/c/scan.ts', 41) },
    { id: 4, ...frame('') },
  ];

  test('gives self times, largest first, without idle time', () => {
    const profile = { nodes, samples: [3, 1, 4, 3], timeDeltas: [1000, 9000, 1000, 2000] };
    expect(selfTimes(profile, 1)).toEqual([
      { name: 'scan  b/c/scan.ts:42', ms: 3, share: 0.75 },
      { name: '(anonymous)', ms: 1, share: 0.25 },
    ]);
  });

  test('counts only the last busy seconds: start-up is not what was asked for', () => {
    const profile = { nodes, samples: [2, 2, 3, 1, 3], timeDeltas: [5e5, 5e5, 6e5, 9e6, 4e5] };
    expect(selfTimes(profile, 1).map((time) => time.name)).toEqual(['scan  b/c/scan.ts:42']);
  });

  test('gives the share of one part with all that it calls, and with nothing that calls it', () => {
    const tree = [
      { id: 1, ...frame('(root)'), children: [2, 3, 6] },
      { id: 2, ...frame('serve', 'file:///a/gateway.js'), children: [4] },
      { id: 3, ...frame('serve', 'file:///a/gateway.js') },
      { id: 4, ...frame('endSpan', 'file:///a/telemetry.js'), children: [5] },
      { id: 5, ...frame('now', 'node:perf_hooks') },
      { id: 6, ...frame('(idle)') },
    ];
    const profile = { nodes: tree, samples: [3, 2, 4, 6, 5], timeDeltas: [5000, 1000, 1000, 8000, 3000] };
    expect(shareOfPart(profile, 1, (url) => url.endsWith('/telemetry.js'))).toBe(0.4);
  });

  test.each([
    ['', '(garbage collector)', '(garbage collector)'],
    ['', 'indexOfString', 'other native functions'],
    ['node:events', 'emit', 'node'],
    ['wasm://wasm/28d7316e', 'wasm-function[4]', 'WebAssembly'],
    ['file:///a/node_modules/@x/y/lib/z.js', 'f', '@x/y'],
    ['file:///a/gateway/pipeline/call-job.ts', 'f', 'gateway/pipeline'],
    ['file:///a/core/clock.ts', 'now', 'core/clock.ts'],
  ])('%s %s is of %s', (url, functionName, part) => {
    expect(partOf({ url, functionName, lineNumber: 0 })).toBe(part);
  });
});
