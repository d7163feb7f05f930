// Which safeguards of plans are noticed when they are gone?

import type { Mutant } from '../../../mutants/mutant.ts';

const sameAsServed = ['test/gateway/plan/same-as-served.test.ts'];
const relay = ['test/ledger/read-api-plan.test.ts'];

export const plan: readonly Mutant[] = [
  {
    name: 'a plan goes by what is in service',
    file: 'gateway/plan/plan-request.ts',
    from: 'isUsable: (position) => health.isUsable(at(position), nowMs) && !saturated.has(at(position)),',
    to: 'isUsable: () => true,',
    tests: sameAsServed,
  },
  {
    name: 'a plan reserves nothing',
    file: 'gateway/limits/limiter.ts',
    from: 'this.memory.look(seats, pods, this.parts.clock.now());',
    to: 'this.memory.reserve(seats, ask.wanted, pods, this.parts.clock.now());',
    tests: sameAsServed,
  },
  {
    name: 'a plan names no provider to a user of one namespace',
    file: 'ledger/read-api/plan.ts',
    from: 'return path === PLAN_PATH && !seesProviders ? plainPlanAnswerSchema.parse(named) : named;',
    to: 'return named;',
    tests: relay,
  },
  {
    name: 'plans of a namespace need the right to see it',
    file: 'ledger/read-api/read-api.ts',
    from: 'await expectAccessTo(parts, token, question.asked.namespace);',
    to: 'void question;',
    tests: relay,
  },
  {
    name: 'a plan is asked of a gateway that is ready',
    file: 'ledger/pods.ts',
    from: 'readyPods: () => seen().flatMap(({ pod, isReady }) => (isReady ? [pod] : [])),',
    to: 'readyPods: () => seen().map(({ pod }) => pod),',
    tests: ['test/ledger/pods.test.ts'],
  },
];
