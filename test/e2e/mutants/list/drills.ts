// Which safeguards of drills are noticed when they are gone?

import type { Mutant } from '../../../mutants/mutant.ts';

export const drills: readonly Mutant[] = [
  {
    name: 'a drill breaks one target and leaves the others whole',
    file: 'gateway/drill/simulated-upstream.ts',
    from: 'name === faulty ? faultScript(fault, answer) : wholeScript(answer)',
    to: 'wholeScript(answer)',
    tests: ['test/gateway/drill/run-drill.test.ts'],
  },
  {
    name: 'a drill doubts no target, whatever the checks have found',
    file: 'gateway/drill/as-written.ts',
    from: 'isSuspect: false',
    to: 'isSuspect: endpoint.isSuspect',
    tests: ['test/gateway/drill/as-written.test.ts', 'test/gateway/drill/no-trace.test.ts'],
  },
  {
    name: 'each of the targets of one priority runs in drills, whatever keeps calls together',
    file: 'gateway/drill/as-written.ts',
    from: 'entry: { ...route.entry, failover },',
    to: 'entry: route.entry,',
    tests: ['test/gateway/drill/as-written.test.ts'],
  },
  {
    name: 'a drill fails after a late takeover',
    file: 'gateway/drill/judge-drill.ts',
    from: 'if (takeoverMs > takeoverWithinMs) {',
    to: 'if (takeoverMs > Infinity) {',
    tests: ['test/gateway/drill/run-drill.test.ts'],
  },
  {
    name: 'a poll that waits hears of a drill that is over',
    file: 'gateway/exchange/pod-state.ts',
    from: 'const stopHearing = this.parts.drills.onEnd(look);',
    to: 'const stopHearing = (): void => {};',
    tests: ['test/gateway/exchange/exchange.test.ts'],
  },
  {
    name: 'a clock that was ahead puts off no drill',
    file: 'operator/drills/due.ts',
    from: 'Math.min(last.atMs, nowMs)',
    to: 'last.atMs',
    tests: ['test/operator/drills/due.test.ts'],
  },
  {
    name: 'a drill that was missed is made up for',
    file: 'operator/drills/due.ts',
    from: 'Math.min(last.atMs, nowMs)',
    to: 'nowMs',
    tests: ['test/operator/drills/due.test.ts'],
  },
  {
    name: 'a drill is run by a pod that runs what is to be proven',
    file: 'operator/drills/choose-pod.ts',
    from: 'return failure === undefined && drills !== undefined && runsIt;',
    to: 'return drills !== undefined;',
    tests: ['test/operator/drills/drills.test.ts'],
  },
  {
    name: 'a pod hears at once that it has a drill to run',
    file: 'operator/drills/drills.ts',
    from: 'for (const uid of renewed) parts.renew(uid);',
    to: '',
    tests: ['test/operator/drills/drills.test.ts'],
  },
  {
    name: 'a namespace with many long drills does not block the drills of others',
    file: 'operator/drills/drills.ts',
    from: 'runningOf(a) - runningOf(b) || a.dueMs - b.dueMs',
    to: 'a.dueMs - b.dueMs',
    tests: ['test/operator/drills/drills.test.ts'],
  },
  {
    name: 'a drill that finds no place says so',
    file: 'operator/drills/drills.ts',
    from: 'reportTrouble(one, troubleOf(pods.length, able.length), nowMs);',
    to: 'if (able.length === 0) reportTrouble(one, troubleOf(pods.length, able.length), nowMs);',
    tests: ['test/operator/drills/drills.test.ts'],
  },
];
