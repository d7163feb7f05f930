// What may be asked of a run, and what happens to a wrong wish?

import { describe, expect, test } from 'vitest';
import { ceilings } from '../../../tools/bench/gates.ts';
import { scenarios } from '../../../tools/bench/scenarios.ts';
import { readSettings } from '../../../tools/bench/settings.ts';
import { targetNames } from '../../../tools/bench/targets/target.ts';

describe('settings', () => {
  const read = (...argv: string[]) => {
    const invocation = readSettings(argv, { PATH: '/bin', HOME: '/somewhere/else' });
    return invocation.kind === 'run' ? invocation.settings : undefined;
  };

  test('default to five rounds of everything', () => {
    expect(read()).toMatchObject({ rounds: 5, warmSeconds: 6, windowSeconds: 3, targets: [...targetNames] });
    expect(read()?.scenarios).toEqual(scenarios);
  });

  test('keep downloads in the cache folder of the user', () => {
    expect(read()?.cacheFolder).toBe('/somewhere/else/.cache/penstock-bench');
    const folderOf = (env: Record<string, string>) => {
      const invocation = readSettings([], { HOME: '/somewhere/else', ...env });
      return invocation.kind === 'run' ? invocation.settings.cacheFolder : undefined;
    };
    expect(folderOf({ XDG_CACHE_HOME: '/cache' })).toBe('/cache/penstock-bench');
    expect(folderOf({ XDG_CACHE_HOME: '/cache', PENSTOCK_BENCH_CACHE: '/own' })).toBe('/own');
  });

  test('take lists, numbers and --quick', () => {
    const settings = read('--targets', 'floor,nginx', '--scenarios', 'sse-paced', '--rounds', '7', '--quick');
    expect(settings).toMatchObject({
      targets: ['nginx', 'floor'],
      rounds: 7,
      windowSeconds: 1,
      isQuick: true,
    });
    expect(settings?.scenarios.map((scenario) => scenario.name)).toEqual(['sse-paced']);
  });

  test('--gate takes floor and gateway, the scenarios with a ceiling, and no other target', () => {
    const settings = read('--gate');
    expect(settings).toMatchObject({
      isGate: true,
      targets: ['floor', 'gateway'],
      rounds: 3,
      windowSeconds: 1.5,
    });
    expect(settings?.scenarios.map(({ name }) => name).toSorted()).toEqual(
      ceilings.map(({ scenario }) => scenario).toSorted(),
    );
    expect(() => read('--gate', '--targets', 'gateway')).toThrow('it takes no other --targets');
  });

  test('--growth takes five rounds of the gateway, and no other target', () => {
    expect(read('--growth')).toMatchObject({ isGrowth: true, targets: ['gateway'], rounds: 5 });
    expect(read()).toMatchObject({ isGrowth: false });
    expect(() => read('--growth', '--targets', 'floor')).toThrow('it takes no other --targets');
  });

  test('leave out what none of the targets can serve', () => {
    const names = read('--targets', 'direct,floor')?.scenarios.map((scenario) => scenario.name);
    expect(names).toContain('sse-paced');
    expect(names).not.toContain('sse-paced-messages');
    const settings = read('--targets', 'envoy,gateway', '--scenarios', 'sse-paced-messages');
    expect(settings?.scenarios.map((scenario) => scenario.name)).toEqual(['sse-paced-messages']);
  });

  test('--profile means the gateway under unary load unless said otherwise', () => {
    expect(read('--profile')).toMatchObject({ isProfile: true, targets: ['gateway'] });
    expect(read('--profile', '--targets', 'floor', '--scenarios', 'sse-paced')).toMatchObject({
      targets: ['floor'],
    });
  });

  test('--help explains and runs nothing', () => {
    expect(readSettings(['--help'], {})).toMatchObject({
      kind: 'help',
      text: expect.stringContaining('--targets'),
    });
  });

  test.each([
    [['--targets', 'haproxy'], "--targets: 'haproxy' is none of direct, nginx, envoy, floor, gateway"],
    [['--scenarios', ''], "--scenarios: '' is none of"],
    [
      ['--targets', 'direct,floor', '--scenarios', 'sse-paced,sse-burst-messages'],
      '--scenarios: sse-burst-messages can be served by none of direct, floor',
    ],
    [['--rounds', '0'], "--rounds: '0' is not a number from 1"],
    [['--rounds', 'many'], "--rounds: 'many' is not a number"],
    [['--profile', '--targets', 'nginx'], '--profile takes one target that runs on Node'],
    [['--profile', '--scenarios', 'hold-waiting'], '--profile takes one scenario that puts on load'],
    [['--fast'], '--fast'],
  ])('refuse %j', (argv, message) => {
    expect(() => read(...argv)).toThrow(message);
  });
});
