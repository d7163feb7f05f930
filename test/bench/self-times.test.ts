// Where the CPU went, out of a V8 profile.

import { describe, expect, test } from 'vitest';
import { selfTimes } from '../../bench/self-times.ts';

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
});
