// Manifests into use: compile, issue the keys that are missing, hand the table to the gateway. What
// is wrong is told with file and field, and then the last good table goes on serving.

import type { RoutingTable } from '../gateway/contract/routing-table.ts';
import { type CompileResult, createCompiler } from '../operator/compile/compile.ts';
import type { Condition, Verdict } from '../operator/compile/verdict.ts';
import type { SecretRecord } from '../operator/watch/snapshot.ts';
import type { KeyStore } from './key-store.ts';
import { type Manifests, objectId } from './manifests.ts';
import { buildSnapshot, issuedSecret, localPlatform } from './snapshot.ts';

export interface DeployParts {
  readonly keyStore: KeyStore;
  readonly wallMs: () => number;
  /** Base URL of the gateway for OpenAI clients. */
  readonly baseUrl: string;
  offer(table: RoutingTable): void;
}

export type Deployment =
  | {
      readonly type: 'in-use';
      readonly generation: number;
      readonly problems: readonly string[];
      readonly result: CompileResult;
      /** Issued keys by ApiKey, `namespace/name`. */
      readonly keys: ReadonlyMap<string, string>;
    }
  /** The manifests have problems that those in use have not. */
  | { readonly type: 'kept'; readonly problems: readonly string[] }
  /** Everything is as it was. */
  | { readonly type: 'unchanged' };

/** Gives a function that puts manifests into use; calls must not overlap. */
export function createDeployer(parts: DeployParts): (manifests: readonly Manifests[]) => Promise<Deployment> {
  const compile = createCompiler();
  let generation = 0;
  let problemsInUse: readonly string[] = [];
  let tableInUse = '';
  const issued = new Map<string, SecretRecord>();

  const compileIssuing = async (
    manifests: readonly Manifests[],
  ): Promise<{ result: CompileResult; keys: Map<string, string> }> => {
    for (;;) {
      const result = compile(buildSnapshot(manifests, [...issued.values()]), parts.wallMs());
      const missing = result.verdicts.flatMap((verdict) =>
        verdict.kind === 'ApiKey' && verdict.needsSecret && verdict.secretName !== undefined
          ? [{ namespace: verdict.namespace, name: verdict.name, secretName: verdict.secretName }]
          : [],
      );
      if (missing.length === 0) return { result, keys: keysOf(issued) };
      for (const { secretName, ...apiKey } of missing) {
        const id = `${apiKey.namespace}/${apiKey.name}`;
        const key = await parts.keyStore.keyFor(id, localPlatform.keyPrefix);
        issued.set(id, issuedSecret(apiKey, secretName, { apiKey: key, baseURL: parts.baseUrl }));
      }
    }
  };

  return async (manifests) => {
    const { result, keys } = await compileIssuing(manifests);
    const places = new Map(manifests.flatMap((each) => [...each.places]));
    const problems = [
      ...manifests.flatMap((each) => each.problems),
      ...result.verdicts.flatMap((verdict) => describeProblems(verdict, places)),
    ];
    const isFirst = generation === 0;
    if (!isFirst && problems.some((problem) => !problemsInUse.includes(problem))) {
      return { type: 'kept', problems };
    }
    const content = JSON.stringify(result.table);
    if (content === tableInUse && problems.length === problemsInUse.length) return { type: 'unchanged' };
    generation++;
    parts.offer({ ...result.table, format: 1, minReader: 1, epoch: 1, generation });
    problemsInUse = problems;
    tableInUse = content;
    return { type: 'in-use', generation, problems, result, keys };
  };
}

/** Conditions that say what is wrong when they are not true. */
const wanted = new Set(['Accepted', 'ResolvedRefs', 'Issued']);
/** Conditions that say what is wrong when they are true. */
const unwanted = new Set(['Degraded', 'Conflicted', 'Stalled']);

function describeProblems(verdict: Verdict, places: ReadonlyMap<string, string>): readonly string[] {
  const id = objectId(verdict.kind, verdict.namespace, verdict.name);
  const isProblem = ({ type, status }: Condition): boolean =>
    (wanted.has(type) && status === 'False') || (unwanted.has(type) && status === 'True');
  const messages = new Set(verdict.conditions.filter(isProblem).map(({ message }) => message));
  return [...messages].map((message) => `${places.get(id) ?? id}: ${message}`);
}

function keysOf(issued: ReadonlyMap<string, SecretRecord>): Map<string, string> {
  return new Map([...issued].map(([id, { data }]) => [id, data.apiKey ?? '']));
}
