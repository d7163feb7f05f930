// What do the files of a folder declare? The same YAML that `kubectl apply` takes, read into the plain
// objects that the compile works on.

import { type Document, isNode, type LineCounter, type Node } from 'yaml';
import { timeOf } from '../core/kube/time.ts';
import { API_GROUP, API_VERSION } from '../operator/resources/metadata.ts';
import { unknownField } from '../operator/resources/problems.ts';
import type {
  ConfigMapRecord,
  NamespaceRecord,
  RawObject,
  RawPolicy,
  SecretRecord,
} from '../operator/watch/snapshot.ts';
import { offsetOfField } from './field-line.ts';
import { type Manifests, objectId, type Place, type Remark } from './manifests.ts';
import type { ManifestFile, UnreadableFile } from './read-folder.ts';
import { readYaml } from './read-yaml.ts';

/**
 * When did an object come into being? An API server would know; here it is the time of its file when it
 * was first read, so that an edit makes nothing younger.
 *
 * @returns Unix milliseconds.
 */
type FirstSeen = (id: string, modifiedMs: number) => number;

export function parseManifests(
  files: readonly (ManifestFile | UnreadableFile)[],
  firstSeen: FirstSeen,
): Manifests {
  const gatherer = new Gatherer(firstSeen);
  for (const file of files) gatherer.file(file);
  return gatherer.result();
}

const apiVersion = `${API_GROUP}/${API_VERSION}`;
const ownKinds = ['Provider', 'ModelRoute', 'ApiKey', 'TenantPolicy'];
const secretMembers = ['apiVersion', 'kind', 'metadata', 'type', 'data', 'stringData', 'immutable'];
const defaultNamespace = 'default';

type Fields = Readonly<Record<string, unknown>>;

/** One object as in its file. */
interface Found {
  readonly kind: string;
  readonly fields: Fields;
  readonly metadata: Fields;
  /** Empty: it belongs to none. */
  readonly namespace: string;
  readonly name: string;
  readonly place: Place;
  readonly modifiedMs: number;
}

class Gatherer {
  private readonly firstSeen: FirstSeen;
  private readonly providers: RawObject[] = [];
  private readonly modelRoutes: RawObject[] = [];
  private readonly apiKeys: RawObject[] = [];
  private readonly policies: RawPolicy[] = [];
  private readonly secrets: SecretRecord[] = [];
  private readonly configMaps: ConfigMapRecord[] = [];
  private readonly namespaces = new Map<string, NamespaceRecord>();
  private readonly places = new Map<string, Place>();
  private readonly unread = new Set<string>();
  private readonly problems: Remark[] = [];
  private readonly notes: Remark[] = [];

  constructor(firstSeen: FirstSeen) {
    this.firstSeen = firstSeen;
  }

  result(): Manifests {
    for (const { metadata } of [...this.providers, ...this.modelRoutes, ...this.apiKeys]) {
      this.namespace(metadata.namespace, {});
    }
    return {
      providers: this.providers,
      modelRoutes: this.modelRoutes,
      apiKeys: this.apiKeys,
      policies: this.policies,
      secrets: this.secrets,
      configMaps: this.configMaps,
      namespaces: [...this.namespaces.values()],
      places: this.places,
      unread: this.unread,
      problems: this.problems,
      notes: this.notes,
    };
  }

  file(file: ManifestFile | UnreadableFile): void {
    if ('reason' in file) {
      this.unread.add(file.name);
      this.problems.push({ place: file.name, id: `${file.name} ${file.reason}`, text: file.reason });
      return;
    }
    for (const piece of piecesOf(file))
      if ('text' in piece) this.fileProblem(file, piece.position, piece.text);
      else this.value(file, piece.value, piece.place);
  }

  private fileProblem({ name }: ManifestFile, position: string, text: string): void {
    this.unread.add(name);
    this.problems.push({ place: `${name}:${position}`, id: `${name} ${text}`, text });
  }

  private value(file: ManifestFile, value: unknown, place: Place): void {
    const fields = asFields(value);
    if (typeof fields?.kind === 'string' && fields.kind.endsWith('List') && Array.isArray(fields.items)) {
      fields.items.forEach((item: unknown, index) => {
        this.value(file, item, itemPlace(place, index));
      });
      return;
    }
    const metadata = asFields(fields?.metadata);
    const { kind } = fields ?? {};
    const name = metadata?.name;
    if (!fields || !metadata || typeof kind !== 'string' || typeof name !== 'string') {
      const text = 'not a Kubernetes object; it needs apiVersion, kind and metadata.name';
      this.fileProblem(file, String(place.lineOf()), text);
      return;
    }
    const { namespace = kind === 'TenantPolicy' ? '' : defaultNamespace } = metadata;
    if (typeof namespace !== 'string') {
      const line = place.lineOf('metadata.namespace');
      this.fileProblem(file, String(line), 'metadata.namespace: must be a string; put it in quotes');
      return;
    }
    this.object({ kind, fields, metadata, namespace, name, place, modifiedMs: file.modifiedMs });
  }

  private object(found: Found): void {
    const { kind, fields, metadata, namespace, name, place } = found;
    const isCore = fields.apiVersion === 'v1';
    if (isCore && kind === 'Namespace') {
      this.namespace(name, this.textMap(found, 'metadata.labels', metadata.labels));
      return;
    }
    const isOwn = ownKinds.includes(kind) || groupOf(fields.apiVersion) === API_GROUP;
    if (!isOwn && !(isCore && (kind === 'Secret' || kind === 'ConfigMap'))) {
      const text = `${kind} of apiVersion '${String(fields.apiVersion)}' is ignored: local mode does not use this kind`;
      this.notes.push(remarkOn(found, 'kind', text));
      return;
    }
    const id = objectId(kind, namespace, name);
    const other = this.places.get(id);
    if (other !== undefined) {
      const text = `already defined at ${other.file}:${other.lineOf()}; rename one of the two`;
      this.problems.push({ ...remarkOn(found, 'metadata.name', text), id: `${id} twice` });
      return;
    }
    this.places.set(id, place);
    if (isOwn) this.own(found, id);
    else if (kind === 'Secret') this.secret(found);
    else {
      const { fields } = found;
      this.configMaps.push({ namespace, name, data: this.textMap(found, 'data', fields.data) });
    }
  }

  private own(found: Found, id: string): void {
    const { kind, fields, metadata, namespace, name, modifiedMs } = found;
    if (fields.apiVersion !== apiVersion) {
      const text = `apiVersion '${String(fields.apiVersion)}' is not supported; write ${apiVersion}`;
      this.problems.push(remarkOn(found, 'apiVersion', text));
      return;
    }
    // These are an API server's to write: what a manifest says about them does not count, there and here.
    const { creationTimestamp: _, deletionTimestamp: __, ...rest } = metadata;
    const creationTimestamp = timeOf(this.firstSeen(id, modifiedMs));
    const object: RawObject = { ...fields, metadata: { ...rest, namespace, name, creationTimestamp } };
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
      case 'TenantPolicy':
        this.policy(found, { ...fields, metadata: { ...rest, name, creationTimestamp } });
        return;
      default: {
        const text = `unknown kind in ${apiVersion}; the kinds are ${ownKinds.join(', ')}`;
        this.problems.push(remarkOn(found, 'kind', text));
      }
    }
  }

  private policy(found: Found, object: RawPolicy): void {
    if (found.namespace === '') this.policies.push(object);
    else {
      const text = 'metadata.namespace: a TenantPolicy has no namespace; remove the field';
      this.problems.push(remarkOn(found, 'metadata.namespace', text));
    }
  }

  private secret(found: Found): void {
    const { fields, metadata, namespace, name } = found;
    this.secretMembers(found);
    const data: Record<string, string> = {};
    for (const [key, value] of Object.entries(this.textMap(found, 'data', fields.data))) {
      // Never with the value: it is a secret, in the wrong place.
      if (isBase64(value)) data[key] = Buffer.from(value, 'base64').toString('utf8');
      else {
        const text = `data.${key}: must be base64; write plain text under stringData instead`;
        this.problems.push(remarkOn(found, `data.${key}`, text));
      }
    }
    Object.assign(data, this.textMap(found, 'stringData', fields.stringData));
    this.secrets.push({
      namespace,
      name,
      labels: this.textMap(found, 'metadata.labels', metadata.labels),
      annotations: this.textMap(found, 'metadata.annotations', metadata.annotations),
      type: typeof fields.type === 'string' ? fields.type : 'Opaque',
      data,
    });
  }

  /** Never with a value: it may be a secret, in the wrong place. */
  private secretMembers(found: Found): void {
    for (const member of Object.keys(found.fields)) {
      if (secretMembers.includes(member)) continue;
      const text = `${member}: ${unknownField(member, secretMembers)}`;
      this.problems.push(remarkOn(found, member, text));
    }
    const { type, immutable } = found.fields;
    if (type !== undefined && typeof type !== 'string') {
      this.problems.push(remarkOn(found, 'type', 'type: must be a string; put it in quotes'));
    }
    if (immutable !== undefined && typeof immutable !== 'boolean') {
      this.problems.push(remarkOn(found, 'immutable', 'immutable: must be true or false'));
    }
  }

  private namespace(name: string, labels: Readonly<Record<string, string>>): void {
    const known = this.namespaces.get(name);
    // The API server puts this label on every namespace.
    const own = { 'kubernetes.io/metadata.name': name };
    this.namespaces.set(name, { name, labels: { ...known?.labels, ...labels, ...own } });
  }

  /** YAML reads true and 12 as what they are not meant to be here; an API server refuses them too. */
  private textMap(found: Found, path: string, value: unknown): Record<string, string> {
    const texts: Record<string, string> = {};
    const fields = asFields(value ?? {});
    if (fields === undefined) {
      const text = `${path}: must be an object of names and strings, such as ${path}: { name: value }`;
      this.problems.push(remarkOn(found, path, text));
    }
    for (const [key, entry] of Object.entries(fields ?? {})) {
      if (typeof entry === 'string') texts[key] = entry;
      else {
        const text = `${path}.${key}: must be a string; put it in quotes`;
        this.problems.push(remarkOn(found, `${path}.${key}`, text));
      }
    }
    return texts;
  }
}

/** The content of a file, piece by piece: a document, or the reason why it cannot be read. */
type Piece =
  | { readonly value: unknown; readonly place: Place }
  | { readonly position: string; readonly text: string };

const pieces = new WeakMap<ManifestFile, readonly Piece[]>();

/** Kept: of a hundred files one is saved, and the others are the same. */
function piecesOf(file: ManifestFile): readonly Piece[] {
  const known = pieces.get(file) ?? parseFile(file);
  pieces.set(file, known);
  return known;
}

/** False where it is empty, or has nothing but comments. */
export function holdsAnything(file: ManifestFile): boolean {
  return piecesOf(file).length > 0;
}

function parseFile(file: ManifestFile): readonly Piece[] {
  const read = readYaml(file.content);
  if ('excess' in read) return [{ position: String(read.line), text: read.excess }];
  const { documents, lines } = read;
  return documents.flatMap((document, index) => parseDocument(file, document, index, lines) ?? []);
}

function parseDocument(
  file: ManifestFile,
  document: Document,
  index: number,
  lines: LineCounter,
): Piece | undefined {
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    return {
      position: `${line}:${col}`,
      text: `${firstSentence(error.message)}${remedies[error.code] ?? ''}`,
    };
  }
  const root = document.contents;
  if (!isNode(root)) return undefined;
  const place = placeOf(file, document, index, root, lines);
  try {
    const value: unknown = document.toJS();
    return value === null ? undefined : { value, place };
  } catch (cause) {
    // An alias without its anchor, or so many of them that they would fill the memory.
    return { position: String(place.lineOf()), text: firstSentence(String(cause)) };
  }
}

function placeOf(
  file: ManifestFile,
  document: Document,
  index: number,
  root: Node,
  lines: LineCounter,
): Place {
  return {
    file: file.name,
    spot: { content: file.content, document: index, path: [] },
    // The range of a document begins at its separator; the first content is at its node.
    lineOf: (...fieldPaths) => lines.linePos(offsetOfField(document, root, fieldPaths)).line,
  };
}

function itemPlace({ file, spot, lineOf }: Place, index: number): Place {
  const item = `items[${index}]`;
  return {
    file,
    spot: { ...spot, path: [...spot.path, 'items', index] },
    lineOf: (...fieldPaths) =>
      fieldPaths.length === 0 ? lineOf(item) : lineOf(...fieldPaths.map((path) => `${item}.${path}`)),
  };
}

function remarkOn({ kind, namespace, name, place }: Found, field: string, text: string): Remark {
  const sentence = `${objectId(kind, namespace, name)}: ${text}`;
  return { place: `${place.file}:${place.lineOf(field)}`, id: sentence, text: sentence };
}

function groupOf(version: unknown): string | undefined {
  return typeof version === 'string' ? version.split('/')[0] : undefined;
}

/** As an API server reads it: padded, in the standard alphabet; line breaks do not count. */
function isBase64(text: string): boolean {
  const bare = text.replace(/[\r\n]/g, '');
  return bare.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(bare);
}

/** For codes of the library whose words name no remedy. */
const remedies: Readonly<Record<string, string>> = {
  BAD_INDENT: '; check the indentation',
  BLOCK_AS_IMPLICIT_KEY: '; check the indentation, and quote a value that holds ": "',
};

/** Of the parser's message: what is wrong, without the excerpt, which could be part of a secret. */
function firstSentence(message: string): string {
  const [first = message] = message.split('\n');
  return first.replace(/^\w*Error: /, '').replace(/ at line \d+, column \d+:?$/, '');
}

function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : undefined;
}
