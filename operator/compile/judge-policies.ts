// Reads TenantPolicies. The last known good form of an invalid one stays in force: a bad edit must not remove a tenant's budget.

import { parseAddressRules } from '../../core/egress/address-rules.ts';
import type { Problem } from '../resources/problems.ts';
import { parseTenantPolicy, type TenantPolicySpec } from '../resources/tenant-policy.ts';
import type { CheckedPolicy, PlatformSettings, RawPolicy } from '../watch/snapshot.ts';

interface Good {
  readonly uid: unknown;
  readonly generation: number | undefined;
  readonly spec: TenantPolicySpec;
}

type PolicyJudge = (objects: readonly RawPolicy[]) => readonly CheckedPolicy[];

/** @returns what judges all of them, by name, and remembers the last good form of each. */
export function createPolicyJudge({ servicePrefix }: Pick<PlatformSettings, 'servicePrefix'>): PolicyJudge {
  const judged = new WeakMap<RawPolicy, CheckedPolicy>();
  let good: ReadonlyMap<string, Good> = new Map();
  return (objects) => {
    const next = new Map<string, Good>();
    const all = objects
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      .map((object) => {
        const { name, uid } = object.metadata;
        const before = good.get(name);
        const policy =
          judged.get(object) ?? judge(object, before?.uid === uid ? before : undefined, servicePrefix);
        judged.set(object, policy);
        const { spec, problems } = policy;
        if (problems.length === 0 && spec !== undefined)
          next.set(name, { uid, generation: generationOf(object), spec });
        else if (before?.uid === uid && before !== undefined) next.set(name, before);
        return policy;
      });
    good = next;
    return all;
  };
}

function judge(object: RawPolicy, lastGood: Good | undefined, servicePrefix: string): CheckedPolicy {
  const { spec, problems } = read(object, servicePrefix);
  if (problems.length === 0) return { object, problems, spec };
  if (lastGood !== undefined)
    return { object, problems, spec: lastGood.spec, heldGeneration: lastGood.generation };
  return { object, problems, spec: readableParts(object, servicePrefix) };
}

interface Read {
  readonly spec?: TenantPolicySpec;
  readonly problems: readonly Problem[];
}

function generationOf({ metadata }: RawPolicy): number | undefined {
  return typeof metadata.generation === 'number' ? metadata.generation : undefined;
}

function read(object: unknown, servicePrefix: string): Read {
  const parsed = parseTenantPolicy(object);
  if (!parsed.ok) return { problems: parsed.problems };
  const { spec } = parsed.value;
  const ranges = spec.egress?.allow ?? [];
  const ofPrefix = (spec.modelPrefixes ?? []).indexOf(servicePrefix);
  return {
    spec,
    problems: [
      ...ranges.flatMap((cidr, at) => rangeProblem(cidr, `spec.egress.allow[${at}]`)),
      ...(ofPrefix === -1 ? [] : [servicePrefixProblem(`spec.modelPrefixes[${ofPrefix}]`)]),
    ],
  };
}

function servicePrefixProblem(path: string): Problem {
  return {
    path,
    message: 'is the service prefix, which is reserved for platform namespaces; write role: Platform instead',
  };
}

/** A schema cannot see which ranges are never opened. */
function rangeProblem(cidr: string, path: string): Problem[] {
  try {
    parseAddressRules([{ cidr, namespaces: ['*'] }]);
    return [];
  } catch (error) {
    const fact =
      error instanceof Error ? error.message.replace(/^egress\.allow\[0\]\.cidr /, '') : String(error);
    return [{ path, message: fact }];
  }
}

/** No earlier form is known, as after a restart: each member that is valid on its own counts. */
function readableParts(object: RawPolicy, servicePrefix: string): TenantPolicySpec | undefined {
  const { namespaces, ...members } = Object.fromEntries(Object.entries(Object(object.spec)));
  const withMembers = (spec: object) => read({ ...object, spec: { namespaces, ...spec } }, servicePrefix);
  const readable = Object.entries(members).filter(
    ([name, value]) => withMembers({ [name]: value }).problems.length === 0,
  );
  return withMembers(Object.fromEntries(readable)).spec;
}
