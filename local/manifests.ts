// What do the manifests of a folder say? The same YAML that `kubectl apply` takes, read into the
// plain objects that the compile works on.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LineCounter, parseAllDocuments } from 'yaml';
import type { NamespaceRecord, RawObject, SecretRecord } from '../operator/watch/snapshot.ts';

/** Where an object stands, for messages: `routes.yaml:12`. */
export type Place = string;

export interface Manifests {
  readonly providers: readonly RawObject[];
  readonly modelRoutes: readonly RawObject[];
  readonly apiKeys: readonly RawObject[];
  readonly secrets: readonly SecretRecord[];
  readonly namespaces: readonly NamespaceRecord[];
  /** By `Kind namespace/name`. */
  readonly places: ReadonlyMap<string, Place>;
  /** Files that could not be read: each says where, what, and what to do. */
  readonly problems: readonly string[];
}

const apiVersion = 'penstock.dev/v1alpha1';
const defaultNamespace = 'default';

export async function readManifests(folder: string): Promise<Manifests> {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).sort();
  const gatherer = new Gatherer();
  for (const name of names) gatherer.file(name, await readFile(join(folder, name), 'utf8'));
  return gatherer.result();
}

export function objectId(kind: string, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`;
}

type Fields = Readonly<Record<string, unknown>>;

class Gatherer {
  private readonly providers: RawObject[] = [];
  private readonly modelRoutes: RawObject[] = [];
  private readonly apiKeys: RawObject[] = [];
  private readonly secrets: SecretRecord[] = [];
  private readonly namespaces = new Map<string, NamespaceRecord>();
  private readonly places = new Map<string, Place>();
  private readonly problems: string[] = [];

  file(name: string, content: string): void {
    const lines = new LineCounter();
    for (const document of parseAllDocuments(content, { lineCounter: lines })) {
      const [error] = document.errors;
      if (error) {
        const { line, col } = lines.linePos(error.pos[0]);
        const [sentence] = error.message.split('\n');
        this.problems.push(`${name}:${line}:${col}: ${sentence?.replace(/ at line.*$/, '')}`);
        continue;
      }
      const value: unknown = document.toJS();
      if (value === null || value === undefined) continue;
      // The range of a document begins at its separator; the first content stands at its node.
      const start = document.contents?.range?.[0] ?? 0;
      this.object(value, `${name}:${lines.linePos(start).line}`);
    }
  }

  result(): Manifests {
    for (const { metadata } of [...this.providers, ...this.modelRoutes, ...this.apiKeys]) {
      this.namespace(metadata.namespace, {});
    }
    return {
      providers: this.providers,
      modelRoutes: this.modelRoutes,
      apiKeys: this.apiKeys,
      secrets: this.secrets,
      namespaces: [...this.namespaces.values()],
      places: this.places,
      problems: this.problems,
    };
  }

  private object(value: unknown, place: Place): void {
    const fields = asFields(value);
    const metadata = asFields(fields?.metadata);
    const { kind } = fields ?? {};
    const name = metadata?.name;
    if (!fields || !metadata || typeof kind !== 'string' || typeof name !== 'string') {
      this.problems.push(`${place}: not a Kubernetes object; it needs apiVersion, kind and metadata.name`);
      return;
    }
    if (kind === 'Namespace') {
      this.namespace(name, textMap(metadata.labels));
      return;
    }
    const namespace = typeof metadata.namespace === 'string' ? metadata.namespace : defaultNamespace;
    const id = objectId(kind, namespace, name);
    const other = this.places.get(id);
    if (other !== undefined) {
      this.problems.push(`${place}: ${id} stands at ${other} already; give one of them another name`);
      return;
    }
    this.places.set(id, place);
    if (kind === 'Secret') this.secret(fields, metadata, namespace, name, place);
    else this.own(kind, { ...fields, metadata: { ...metadata, namespace, name } }, place);
  }

  private own(kind: string, object: RawObject, place: Place): void {
    if (object.apiVersion !== apiVersion) {
      this.problems.push(
        `${place}: ${kind} of apiVersion '${String(object.apiVersion)}' is not read here; write ${apiVersion}`,
      );
      return;
    }
    switch (kind) {
      case 'Provider':
        this.providers.push(object);
        return;
      case 'ModelRoute':
        this.modelRoutes.push(object);
        return;
      case 'ApiKey':
        this.apiKeys.push(object);
        return;
      default:
        this.problems.push(
          `${place}: there is no kind '${kind}' in ${apiVersion}; the kinds are Provider, ModelRoute and ApiKey`,
        );
    }
  }

  private secret(fields: Fields, metadata: Fields, namespace: string, name: string, place: Place): void {
    const data: Record<string, string> = {};
    for (const [key, value] of Object.entries(textMap(fields.data))) {
      data[key] = Buffer.from(value, 'base64').toString('utf8');
    }
    for (const [key, value] of Object.entries(asFields(fields.stringData) ?? {})) {
      if (typeof value === 'string') data[key] = value;
      else
        this.problems.push(
          `${place}: Secret ${namespace}/${name}: stringData.${key} is not a string; put it in quotes`,
        );
    }
    this.secrets.push({
      namespace,
      name,
      labels: textMap(metadata.labels),
      annotations: textMap(metadata.annotations),
      type: typeof fields.type === 'string' ? fields.type : 'Opaque',
      data,
    });
  }

  private namespace(name: string, labels: Readonly<Record<string, string>>): void {
    const known = this.namespaces.get(name);
    // The API server puts this label on every namespace.
    const own = { 'kubernetes.io/metadata.name': name };
    this.namespaces.set(name, { name, labels: { ...known?.labels, ...labels, ...own } });
  }
}

function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : undefined;
}

function textMap(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(asFields(value) ?? {}).flatMap(([key, entry]) =>
      typeof entry === 'string' ? [[key, entry]] : [],
    ),
  );
}
