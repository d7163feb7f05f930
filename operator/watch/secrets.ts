// Which Secrets exist, and which may be read? Three watches of the same Secrets are joined here, so that values of Secrets that are not
// for Penstock are never in memory.
//
//   places       metadata of every Secret: it exists, and its labels say whether its values may be read
//   credentials  whole Secrets that are shared with Providers, also if they hold issued keys
//   issued       whole Secrets with issued keys that are not shared
//
// The watches are not in step: a Secret whose label is removed leaves one before or after another. So only `places` decides whether a
// Secret exists; the other two supply values. Until a value arrives, the last known one is kept.

import { isDeepStrictEqual } from 'node:util';
import { isRecord, type KubeObject } from '../../core/kube/object.ts';
import { CREDENTIAL_LABEL } from '../compile/checks/secret-use.ts';
import { type ChangingList, createChangingList } from '../lists/changing-list.ts';
import { ISSUED_SECRET_LABEL } from '../resources/issued-secret.ts';
import { sameTexts, withoutLastApplied } from './metadata-texts.ts';
import type { SecretOwner, SecretRecord } from './snapshot.ts';
import type { Urgency } from './urgency.ts';

/** Whole Secrets are watched with these selectors; they exclude each other. */
export const SECRET_SELECTORS = {
  credentials: `${CREDENTIAL_LABEL}=true`,
  issued: `${ISSUED_SECRET_LABEL},${CREDENTIAL_LABEL}!=true`,
} as const;

export type SecretView = keyof typeof SECRET_SELECTORS;

const views: readonly SecretView[] = ['credentials', 'issued'];

/** The parsed metadata of a Secret. */
interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
  /** The view in which its values come; undefined without our labels. */
  readonly view: SecretView | undefined;
}

export type SecretChange = 'none' | Urgency;

/** A Secret, and what a write over it has to name so that it meets this very form of it. */
export interface HeldSecret {
  readonly record: SecretRecord;
  readonly resourceVersion: string | undefined;
}

export interface SecretIndex {
  /** Identities last while the contents do. */
  readonly records: ReadonlyMap<string, SecretRecord>;
  /** The same, in no order. */
  readonly list: ChangingList<SecretRecord>['list'];
  /** A Secret with issued keys, as last read; undefined while it is not known to exist, or its values have not arrived. */
  issued(key: string): HeldSecret | undefined;
  placed(key: string, place: SecretPlace): SecretChange;
  /** The Secret is gone. */
  displaced(key: string): SecretChange;
  valued(view: SecretView, key: string, record: SecretRecord, resourceVersion?: string): SecretChange;
  /** The Secret has left the view; whether it is gone, `displaced` says. */
  unvalued(view: SecretView, key: string): SecretChange;
}

export function readPlace({ metadata }: KubeObject): SecretPlace {
  const { name, namespace = '', labels = {} } = metadata;
  const view =
    labels[CREDENTIAL_LABEL] === 'true' ? 'credentials' : isIssued({ labels }) ? 'issued' : undefined;
  return { namespace, name, view };
}

/** Bytes that are not UTF-8 become U+FFFD, which every check refuses: such a value is reported as invalid, not cut. */
export function readSecret({ metadata, type, data }: KubeObject): SecretRecord {
  const { name, namespace = '', labels = {}, annotations = {}, creationTimestamp } = metadata;
  // Of the others neither matters, and what they are should not change with it.
  const isOurs = isIssued({ labels });
  const owners = isOurs ? readOwners(metadata.ownerReferences) : [];
  return {
    namespace,
    name,
    labels,
    annotations: withoutLastApplied(annotations),
    type: typeof type === 'string' ? type : 'Opaque',
    data: decodeData(data),
    ...(owners.length === 0 ? {} : { owners }),
    ...(creationTimestamp === undefined || !isOurs ? {} : { createdAt: creationTimestamp }),
  };
}

function readOwners(value: unknown): SecretOwner[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one: unknown) => {
    if (!isRecord(one)) return [];
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = one;
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') return [];
    if (typeof name !== 'string' || typeof uid !== 'string') return [];
    return [
      {
        apiVersion,
        kind,
        name,
        uid,
        ...(typeof controller === 'boolean' ? { controller } : {}),
        ...(typeof blockOwnerDeletion === 'boolean' ? { blockOwnerDeletion } : {}),
      },
    ];
  });
}

export function createSecretIndex(): SecretIndex {
  const places = new Map<string, SecretPlace>();
  const values: Readonly<Record<SecretView, Map<string, SecretRecord>>> = {
    credentials: new Map(),
    issued: new Map(),
  };
  const records = new Map<string, SecretRecord>();
  const changing = createChangingList<SecretRecord>();
  /** Of those that are issued, by view. It moves where the content does not, which is no change to tell. */
  const versions: Readonly<Record<SecretView, Map<string, string | undefined>>> = {
    credentials: new Map(),
    issued: new Map(),
  };

  function findRecord(key: string): SecretRecord | undefined {
    const place = places.get(key);
    const known = records.get(key);
    if (place === undefined) return undefined;
    const { namespace, name, view } = place;
    if (view === undefined) return known !== undefined && isBare(known) ? known : bareRecord(namespace, name);
    const other = view === 'credentials' ? 'issued' : 'credentials';
    return values[view].get(key) ?? values[other].get(key) ?? known;
  }

  function settle(key: string): SecretChange {
    const before = records.get(key);
    const after = findRecord(key);
    if (before === after) return 'none';
    if (after === undefined) records.delete(key);
    else records.set(key, after);
    changing.replace(before, after);
    if (before !== undefined && !isBare(before)) return 'revocation';
    return after === undefined || isBare(after) || isIssued(after) ? 'bulk' : 'edit';
  }

  return {
    records,
    list: changing.list,
    issued(key) {
      const record = records.get(key);
      if (record === undefined || !isIssued(record)) return undefined;
      const view = views.find((one) => values[one].get(key) === record);
      return view && { record, resourceVersion: versions[view].get(key) };
    },
    placed(key, place) {
      places.set(key, place);
      return settle(key);
    },
    displaced(key) {
      places.delete(key);
      return settle(key);
    },
    valued(view, key, record, resourceVersion) {
      if (isIssued(record)) versions[view].set(key, resourceVersion);
      else versions[view].delete(key);
      const known = values[view].get(key);
      if (known === undefined || !isSameSecret(known, record)) values[view].set(key, record);
      return settle(key);
    },
    unvalued(view, key) {
      values[view].delete(key);
      versions[view].delete(key);
      return settle(key);
    },
  };
}

const nothing: Readonly<Record<string, string>> = Object.freeze({});

/**
 * A Secret without our labels: only its existence is used, so that a check can name what is missing. Its labels are not ours, and its
 * annotations can hold its values.
 */
function bareRecord(namespace: string, name: string): SecretRecord {
  return { namespace, name, labels: nothing, annotations: nothing, type: 'Opaque', data: nothing };
}

function isIssued({ labels }: Pick<SecretRecord, 'labels'>): boolean {
  return Object.hasOwn(labels, ISSUED_SECRET_LABEL);
}

function isBare({ data }: SecretRecord): boolean {
  return data === nothing;
}

function isSameSecret(a: SecretRecord, b: SecretRecord): boolean {
  return (
    a.type === b.type &&
    sameTexts(a.data, b.data) &&
    a.createdAt === b.createdAt &&
    sameTexts(a.labels, b.labels) &&
    sameTexts(a.annotations, b.annotations) &&
    isDeepStrictEqual(a.owners, b.owners)
  );
}

function decodeData(data: unknown): Readonly<Record<string, string>> {
  if (typeof data !== 'object' || data === null) return {};
  return Object.fromEntries(
    Object.entries(data).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '',
    ]),
  );
}
