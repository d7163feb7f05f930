// Manifests into use: compile, issue missing keys, hand the table to the gateway. Faults are reported with file and field,
// and then the last good table stays live.

import type { RoutingTable } from '../core/contract/routing-table.ts';
import { isRecord } from '../core/kube/object.ts';
import { READ_CONDITIONS } from '../operator/compile/checks/provider-not-ready.ts';
import { type CompileResult, createCompiler } from '../operator/compile/compile.ts';
import { createPolicyJudge } from '../operator/compile/judge-policies.ts';
import type { Condition, Verdict } from '../operator/compile/verdict.ts';
import type {
  CheckedPolicy,
  ConfigMapRecord,
  NamespaceRecord,
  SecretRecord,
  Snapshot,
} from '../operator/watch/snapshot.ts';
import { type Changes, compareManifests, noChanges } from './compare-manifests.ts';
import { findFieldPaths } from './field-line.ts';
import { issueKeys } from './issue.ts';
import type { KeyStore } from './key-store.ts';
import { type Manifests, objectId, type Place, type Remark } from './manifests.ts';
import { createSameRecords } from './same-records.ts';
import { buildSnapshot, localPlatform } from './snapshot.ts';

interface DeployParts {
  readonly keyStore: KeyStore;
  readonly wallMs: () => number;
  /** Base URL of the gateway for OpenAI clients. */
  readonly baseUrl: string;
  /** Of what people wrote, what is compiled. */
  prepare(manifests: Manifests): Manifests;
  /** @throws {Error} where the gateway refuses it; the one before stays in use. */
  offer(table: RoutingTable): void;
}

export interface Deployment {
  /**
   * - `in-use`: something is different now.
   * - `unchanged`: everything is as it was.
   * - `kept`: the manifests have problems that those in use have not, so nothing of them was taken.
   */
  readonly outcome: 'in-use' | 'unchanged' | 'kept';
  /** Of the table in use. */
  readonly generation: number;
  readonly problems: readonly Remark[];
  /** Worth knowing, nothing to hold an edit back for. */
  readonly notes: readonly Remark[];
  /** Since the manifests in use before. */
  readonly changes: Changes;
  /** Models in use. */
  readonly modelCount: number;
  /** Issued keys by ApiKey, `namespace/name`, in the order of the manifests. */
  readonly keys: ReadonlyMap<string, string>;
  /** Secrets that no manifest has, `namespace/name`: those with issued keys. */
  readonly issuedSecrets: ReadonlySet<string>;
  /** Of the manifests as they are, taken or not. */
  readonly verdicts: readonly Verdict[];
  /** Unix milliseconds at which to call `refresh`: a key ends, or is about to. */
  readonly staleAtMs?: number;
}

/** Calls must not overlap, but for those of `foresee`. */
export interface Deployer {
  deploy(manifests: Manifests): Promise<Deployment>;
  /** Judges what is in use again, because time has passed. */
  refresh(): Promise<Deployment>;
  /** Why these would be kept from use, were they deployed now; none: they would not. */
  foresee(manifests: Manifests): Promise<readonly Remark[]>;
}

interface InUse {
  readonly manifests: Manifests;
  /** Ids. */
  readonly problems: ReadonlySet<string>;
  readonly content: string;
}

export function createDeployer(parts: DeployParts): Deployer {
  const compile = createCompiler();
  const sameSecrets = createSameRecords<SecretRecord>();
  const sameConfigMaps = createSameRecords<ConfigMapRecord>();
  const sameNamespaces = createSameRecords<NamespaceRecord>();
  const sameSnapshot = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    secrets: sameSecrets(snapshot.secrets),
    configMaps: sameConfigMaps(snapshot.configMaps),
    namespaces: sameNamespaces(snapshot.namespaces),
  });
  let generation = 0;
  let inUse: InUse | undefined;

  const judge = async (written: Manifests) => {
    const manifests = parts.prepare(written);
    const issued = await issueKeys(manifests, parts.keyStore, localPlatform.keyPrefix, parts.baseUrl);
    const policies = createPolicyJudge(localPlatform)(manifests.policies);
    const snapshot = sameSnapshot(buildSnapshot(manifests, policies, issued.secrets));
    const result = compile(snapshot, parts.wallMs());
    const { problems, notes } = remarksOn(manifests, result);
    return { issued, result, problems: [...problems, ...problemsOf(policies, manifests)], notes };
  };
  /** What those in use have not. At the start there are none: whatever is wrong is left out alone. */
  const newOf = (problems: readonly Remark[]): readonly Remark[] =>
    inUse === undefined ? [] : problems.filter(({ id }) => !inUse?.problems.has(id));

  const put = async (manifests: Manifests, isRefresh: boolean): Promise<Deployment> => {
    const { issued, result, problems, notes } = await judge(manifests);
    const changes =
      isRefresh || inUse === undefined
        ? noChanges
        : compareManifests(inUse.manifests, manifests, (apiKey) => issued.places.get(apiKey));
    const describe = (outcome: Deployment['outcome']): Deployment => ({
      outcome,
      generation,
      problems,
      notes,
      changes,
      modelCount: result.table.routes.length,
      keys: issued.keys,
      issuedSecrets: new Set(issued.secrets.map(({ namespace, name }) => `${namespace}/${name}`)),
      verdicts: result.verdicts,
      ...(result.staleAtMs === undefined ? {} : { staleAtMs: result.staleAtMs }),
    });

    if (!isRefresh && newOf(problems).length > 0) return describe('kept');
    const content = JSON.stringify(result.table);
    const isSame = content === inUse?.content && problems.length === inUse.problems.size;
    if (!isSame) {
      parts.offer({ ...result.table, format: 1, minReader: 1, epoch: 1, generation: generation + 1 });
      generation++;
    }
    inUse = { manifests, problems: new Set(problems.map(({ id }) => id)), content };
    return describe(isSame ? 'unchanged' : 'in-use');
  };

  return {
    deploy: (manifests) => put(manifests, false),
    refresh: () => {
      if (inUse === undefined) throw new Error('refresh comes after a first deploy');
      return put(inUse.manifests, true);
    },
    foresee: async (manifests) => newOf((await judge(manifests)).problems),
  };
}

function problemsOf(policies: readonly CheckedPolicy[], { places }: Manifests): Remark[] {
  return policies.flatMap(({ object, problems }) => {
    const subject = objectId('TenantPolicy', '', object.metadata.name);
    const place = places.get(subject);
    return problems.map(({ path, message }) => {
      const text = `${subject}: ${path}: ${message}`;
      return {
        ...(place === undefined ? {} : { place: `${place.file}:${place.lineOf(path)}` }),
        id: text,
        text,
      };
    });
  });
}

/** Conditions that say what is wrong when they are not true. */
const wanted = new Set(['Accepted', 'ResolvedRefs', 'Issued']);
/** Conditions that say what is wrong when they are true. */
const unwanted = new Set(['Degraded', 'Conflicted']);
/** Conditions that are worth a line when they are true. */
const noteworthy = new Set(['Expired', 'ExpiringSoon']);

function remarksOn(
  manifests: Manifests,
  { verdicts }: CompileResult,
): { readonly problems: Remark[]; readonly notes: Remark[] } {
  const problems: Remark[] = [...manifests.problems];
  const notes: Remark[] = [...manifests.notes, ...notRotated(manifests)];
  for (const verdict of verdicts) {
    const place = manifests.places.get(objectId(verdict.kind, verdict.namespace, verdict.name));
    notes.push(...remarksOf(verdict, place, (condition) => isNoteworthy(condition, verdict)));
    const found = remarksOf(verdict, place, isProblem);
    if (place !== undefined) problems.push(...found);
    // An object without a file came from the environment, and no edit can mend it: it must hold none back.
    // Of its many routes, nothing is wrong that is not said of their Provider.
    else if (verdict.kind === 'Provider') notes.push(...found);
  }
  return { problems, notes };
}

/** Local mode issues keys once: a field without effect gets a note. */
function notRotated({ apiKeys, places }: Manifests): Remark[] {
  return apiKeys.flatMap(({ metadata: { namespace, name }, spec }) => {
    if (!isRecord(spec) || spec.rotation === undefined) return [];
    const subject = objectId('ApiKey', namespace, name);
    const place = places.get(subject);
    const text = `${subject}: spec.rotation works on Kubernetes only; local mode keeps the key`;
    const where = place === undefined ? {} : { place: `${place.file}:${place.lineOf('spec.rotation')}` };
    return [{ id: text, text, ...where }];
  });
}

/** An object out of service already has a problem, and a note would repeat it. */
function isNoteworthy({ type, status }: Condition, { isInTable }: Verdict): boolean {
  if (type === 'Translatable') return isInTable && status === 'False';
  return noteworthy.has(type) && status === 'True';
}

function isProblem({ type, status }: Condition): boolean {
  return (wanted.has(type) && status === 'False') || (unwanted.has(type) && status === 'True');
}

function remarksOf(
  verdict: Verdict,
  place: Place | undefined,
  isMeant: (condition: Condition) => boolean,
): Remark[] {
  const subject = objectId(verdict.kind, verdict.namespace, verdict.name);
  const meant = verdict.conditions.filter(isMeant);
  const messages = new Set(meant.filter((each) => !isSaidByOther(each, meant)).map(({ message }) => message));
  return [...messages].map((message) => {
    const text = `${subject}: ${withoutConditions(message)}`;
    if (place === undefined) return { id: text, text };
    return { id: text, text, place: `${place.file}:${place.lineOf(...findFieldPaths(message))}` };
  });
}

/** Conditions stand for themselves on a cluster; one line after another, they would say things twice. */
function isSaidByOther({ type }: Condition, all: readonly Condition[]): boolean {
  // Without a usable target, Accepted says what is wrong with each.
  return type === 'ResolvedRefs' && all.some(({ reason }) => reason === 'NoUsableTarget');
}

/** The other object has its own line in the terminal, and local mode has no conditions to look at. */
function withoutConditions(message: string): string {
  return message.replaceAll(READ_CONDITIONS, 'fix that object first');
}
