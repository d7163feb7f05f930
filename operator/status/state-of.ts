// What is the state of an object in one word, for a column? The worst state of its conditions. Pure.

import type { Condition } from '../compile/verdict.ts';
import { type State, states } from '../resources/fields.ts';

interface StateFacts {
  /** All of the object, Ready among them. */
  readonly conditions: readonly Pick<Condition, 'type' | 'status' | 'reason'>[];
  /** Its last good form serves in the place of the present one. */
  readonly isHeld: boolean;
  /** Of a ModelRoute: its targets, by their states. */
  readonly targets?: readonly Target[] | undefined;
}

interface Target {
  readonly state: string;
  /** For a target in use: some of its calls fail. */
  readonly message?: string | undefined;
}

export function stateOf(facts: StateFacts): State {
  return states.find((state) => isIn[state](facts)) ?? 'Serving';
}

type Is = (facts: StateFacts) => boolean;

/** Asked in the order of the states; the first that holds is the word. */
const isIn: Readonly<Record<State, Is>> = {
  Invalid: (facts) =>
    !facts.isHeld &&
    // Without a usable target the fault is in what the route names.
    (find(facts, 'Accepted', 'False')?.reason ?? 'NoUsableTarget') !== 'NoUsableTarget',
  Failing: (facts) => waitsInVain(facts) || failsCalls(facts),
  Expired: (facts) => find(facts, 'Expired', 'True') !== undefined,
  Disabled: (facts) => find(facts, 'Disabled', 'True') !== undefined,
  Suspended: (facts) => find(facts, 'Accepted', 'True')?.reason === 'Suspended',
  OverBudget: (facts) => find(facts, 'BudgetExhausted', 'True') !== undefined,
  Held: ({ isHeld }) => isHeld,
  Degraded: (facts) =>
    find(facts, 'Degraded', 'True') !== undefined ||
    find(facts, 'Conflicted', 'True') !== undefined ||
    find(facts, 'Healthy', 'False') !== undefined ||
    find(facts, 'CredentialsValid', 'False') !== undefined ||
    facts.targets?.some((target) => isUnhealthy(target) || failsPartly(target)) === true,
  Pending: (facts) => find(facts, 'Ready', 'True') === undefined,
  Serving: () => true,
};

function find({ conditions }: StateFacts, type: Condition['type'], status: Condition['status']) {
  return conditions.find((condition) => condition.type === type && condition.status === status);
}

/** Nothing changes without a user's action. An expired object is left out, because it has its own state. */
function waitsInVain(facts: StateFacts): boolean {
  const stalled = find(facts, 'Stalled', 'True');
  return stalled !== undefined && !facts.isHeld && stalled.reason !== 'PastExpiry';
}

function failsCalls(facts: StateFacts): boolean {
  const reason = find(facts, 'Healthy', 'False')?.reason;
  if (reason !== undefined && reason !== 'PartiallyHealthy') return true;
  if (find(facts, 'CredentialsValid', 'False')?.reason === 'CredentialsRefused') return true;
  const used = facts.targets?.filter(({ state }) => state === 'Ready' || state === 'Unhealthy') ?? [];
  return used.length > 0 && used.every(isUnhealthy);
}

function isUnhealthy({ state }: Target): boolean {
  return state === 'Unhealthy';
}

function failsPartly({ state, message }: Target): boolean {
  return state === 'Ready' && message !== undefined;
}
