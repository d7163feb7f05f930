// How does a folder of manifests answer as a cluster would? With the paths and bodies of Kubernetes; changes are written to the files.

import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../core/kube/object.ts';
import type { Cluster, ClusterAnswer, ClusterCall } from '../../dashboard/cluster.ts';
import { API_GROUP, API_VERSION } from '../../operator/resources/metadata.ts';
import type { Foresee } from '../foresee.ts';
import type { FileChange } from '../manifest-reader.ts';
import { objectId, type Place } from '../manifests.ts';
import { FILE_BYTES_MAX } from '../read-folder.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  deleted,
  forbidden,
  invalid,
  noSuchMethod,
  noSuchPath,
  notFound,
  type Subject,
} from './answers.ts';
import { EditRefused, editText, writeText } from './edit-text.ts';
import { judgeObject, judgeSecret } from './judge-object.ts';
import { listObjects } from './list-objects.ts';
import { mergePatch } from './merge-patch.ts';
import { type ApiObject, type LocalObjects, type OwnKind, PLURALS, type Plural } from './objects.ts';
import { ownFields, withServersFields, withWrittenFields } from './own-fields.ts';
import { watchObjects } from './watch-objects.ts';
import { FileChanged } from './write-file.ts';

interface FolderParts {
  readonly objects: LocalObjects;
  /** Reads the folder again; settled when `objects` has it. @throws if it cannot be read. */
  refresh(): Promise<void>;
  readonly foresee: Foresee;
  /** Names of Secrets, `namespace/name`, that are there though no manifest has them. */
  isIssued(namespace: string, name: string): boolean;
  /** See `replaceFile`. */
  replace(file: string, before: string, after: string | undefined): Promise<void>;
  /** See `createFile`. */
  create(names: readonly string[], content: string, isSecret: boolean): Promise<void>;
}

const groupVersion = `${API_GROUP}/${API_VERSION}`;
const ownPath =
  /^\/apis\/penstock\.dev\/v1alpha1(?:\/namespaces\/([^/]+))?\/(apikeys|providers|modelroutes)(?:\/([^/]+))?$/;
const secretsPath = /^\/api\/v1\/namespaces\/([^/]+)\/secrets$/;

export function openFolderCluster(parts: FolderParts): Cluster {
  // One after the other: each reads what the one before has written.
  let writing: Promise<unknown> = Promise.resolve();
  const inTurn = (subject: Subject, write: () => Promise<ClusterAnswer>): Promise<ClusterAnswer> => {
    const done = writing.then(write).catch((error: unknown) => refusalOf(subject, error));
    writing = done.catch(() => undefined);
    return done;
  };
  return {
    async call(call) {
      const [, secretNamespace] = secretsPath.exec(call.path) ?? [];
      if (secretNamespace !== undefined) {
        if (call.method !== 'POST') return noSuchMethod();
        return inTurn(secretSubject(call.body), () => createSecret(parts, secretNamespace, call));
      }
      const asked = askedOf(call);
      if (asked === undefined) return answerBeside(parts, call);
      if (call.method === 'GET') return read(parts, asked, call);
      const subject = subjectOf(asked, asked.name ?? nameIn(call.body));
      return inTurn(subject, () => write(parts, asked, call));
    },
    watch: (path, signal) => {
      const [, namespace, plural] = ownPath.exec(path) ?? [];
      return watchObjects(parts.objects, kindOf(plural), namespace, signal);
    },
  };
}

interface Asked {
  readonly namespace: string | undefined;
  readonly plural: Plural;
  readonly kind: OwnKind;
  readonly name: string | undefined;
}

function askedOf({ path }: ClusterCall): Asked | undefined {
  const [, namespace, plural, name] = ownPath.exec(path) ?? [];
  const kind = kindOf(plural);
  if (kind === undefined) return undefined;
  return { namespace, plural: plural as Plural, kind, name };
}

function kindOf(plural: string | undefined): OwnKind | undefined {
  return plural !== undefined && Object.hasOwn(PLURALS, plural) ? PLURALS[plural as Plural] : undefined;
}

/** Rights and namespaces: a person with access to the terminal may do everything. */
function answerBeside({ objects }: FolderParts, { method, path, body }: ClusterCall): ClusterAnswer {
  if (method === 'POST' && path === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews')
    return { status: 201, body: { ...(isRecord(body) ? body : {}), status: { allowed: true } } };
  if (method !== 'GET' || path !== '/api/v1/namespaces') return noSuchPath();
  const names = new Set(['default', ...objects.manifests().namespaces.map(({ name }) => name)]);
  const items = [...names].sort().map((name) => ({ metadata: { name } }));
  const metadata = { resourceVersion: objects.resourceVersion() };
  return { status: 200, body: { kind: 'NamespaceList', apiVersion: 'v1', metadata, items } };
}

function read({ objects }: FolderParts, asked: Asked, { query = {} }: ClusterCall): ClusterAnswer {
  const { kind, namespace, name } = asked;
  if (name === undefined) return listObjects(objects, kind, namespace, query);
  const found = objects.get(kind, namespace ?? '', name);
  return found === undefined ? notFound(subjectOf(asked, name)) : { status: 200, body: found };
}

/** @throws {FileChanged} {EditRefused} */
async function write(parts: FolderParts, asked: Asked, call: ClusterCall): Promise<ClusterAnswer> {
  const { namespace, name, kind } = asked;
  if (namespace === undefined || (call.method === 'POST') !== (name === undefined)) return noSuchMethod();
  await parts.refresh();
  const isDry = call.query?.dryRun === 'All';
  if (name === undefined) return create(parts, asked, namespace, call.body, isDry);
  const before = parts.objects.get(kind, namespace, name);
  const subject = subjectOf(asked, name);
  if (before === undefined) return notFound(subject);
  const place = parts.objects.manifests().places.get(objectId(kind, namespace, name));
  const unreadFile = parts.objects.unreadFileOf(kind, namespace, name);
  if (unreadFile !== undefined) return badRequest(`${unreadFile} cannot be read. Fix the file first.`);
  if (place === undefined)
    return forbidden(
      subject,
      'it comes from the environment of this process, not from a file. Write a manifest of the same name to replace it',
    );
  if (call.method === 'DELETE') {
    const text = editText(place.spot, undefined);
    if (!isDry) await replace(parts, place, text);
    return deleted(subject, before.metadata.uid);
  }
  const wanted = call.method === 'PATCH' ? mergePatch(before, call.body) : call.body;
  return update(parts, { asked, subject, before, place, isPut: call.method === 'PUT', isDry }, wanted);
}

async function create(
  parts: FolderParts,
  asked: Asked,
  namespace: string,
  body: unknown,
  isDry: boolean,
): Promise<ClusterAnswer> {
  const { kind } = asked;
  if (!isRecord(body)) return badRequest('the body is not an object');
  const metadata = isRecord(body.metadata) ? body.metadata : {};
  const name = nameIn(body);
  const misplaced = misplacedIn(metadata, namespace);
  if (misplaced !== undefined) return misplaced;
  const wanted = ownFields({ apiVersion: groupVersion, kind, ...body, metadata: { ...metadata, namespace } });
  const problems = judgeObject(kind, wanted, undefined);
  const subject = subjectOf(asked, name);
  if (problems.length > 0) return invalid(subject, problems);
  if (parts.objects.get(kind, namespace, name) !== undefined || isTaken(parts, kind, namespace, name))
    return alreadyExists(subject);
  if (isDry) return { status: 201, body: wanted };
  await createFile(parts, fileNames(kind, namespace, name), wanted, false);
  return created(parts, asked, namespace, name, 201);
}

interface Update {
  readonly asked: Asked;
  readonly subject: Subject;
  readonly before: ApiObject;
  readonly place: Place;
  readonly isPut: boolean;
  readonly isDry: boolean;
}

async function update(
  parts: FolderParts,
  { asked, subject, before, place, isPut, isDry }: Update,
  body: unknown,
): Promise<ClusterAnswer> {
  const { namespace, name } = before.metadata;
  if (!isRecord(body)) return badRequest('the body is not an object');
  const metadata = isRecord(body.metadata) ? body.metadata : {};
  if (metadata.name !== name)
    return badRequest(
      `the name of the object (${String(metadata.name)}) does not match the name on the URL (${name})`,
    );
  const misplaced = misplacedIn(metadata, namespace);
  if (misplaced !== undefined) return misplaced;
  const { resourceVersion, uid } = metadata;
  if (isPut && resourceVersion === undefined)
    return invalid(subject, [
      { path: 'metadata.resourceVersion', message: '0x0: must be specified for an update' },
    ]);
  const isOld = resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion;
  if (isOld || (uid !== undefined && uid !== before.metadata.uid)) return conflict(subject);
  const wanted = ownFields({
    apiVersion: before.apiVersion,
    kind: before.kind,
    ...body,
    metadata: { ...metadata, namespace },
  });
  const problems = judgeObject(asked.kind, wanted, before);
  if (problems.length > 0) return invalid(subject, problems);
  if (isDeepStrictEqual(wanted, ownFields(before))) return { status: 200, body: before };
  const text = editText(place.spot, (written) => withWrittenFields(wanted, written));
  if (isDry) return { status: 200, body: withServersFields(wanted, before) };
  await replace(parts, place, text);
  return created(parts, asked, namespace, name, 200);
}

/** The object as it is after it was written. */
async function created(
  parts: FolderParts,
  asked: Asked,
  namespace: string,
  name: string,
  status: number,
): Promise<ClusterAnswer> {
  await parts.refresh();
  const object = parts.objects.get(asked.kind, namespace, name);
  // Removed from the file since.
  return object === undefined ? conflict(subjectOf(asked, name)) : { status, body: object };
}

async function createSecret(
  parts: FolderParts,
  namespace: string,
  call: ClusterCall,
): Promise<ClusterAnswer> {
  const { body } = call;
  if (!isRecord(body)) return badRequest('the body is not an object');
  const metadata = isRecord(body.metadata) ? body.metadata : {};
  const misplaced = misplacedIn(metadata, namespace);
  if (misplaced !== undefined) return misplaced;
  const subject = secretSubject(body);
  const { name } = subject;
  const wanted = ownFields({
    ...body,
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, namespace },
  });
  const problems = judgeSecret(wanted);
  if (problems.length > 0) return invalid(subject, problems);
  await parts.refresh();
  if (isTaken(parts, 'Secret', namespace, name) || parts.isIssued(namespace, name))
    return alreadyExists(subject);
  if (call.query?.dryRun !== 'All')
    await createFile(parts, fileNames('Secret', namespace, name), wanted, true);
  await parts.refresh();
  // The answer leaves the values out: local mode never shows the content of a Secret.
  const { data: _, stringData: __, ...shown } = wanted;
  return { status: 201, body: shown };
}

/** Also by an object that could not be read. */
function isTaken({ objects }: FolderParts, kind: string, namespace: string, name: string): boolean {
  return objects.manifests().places.has(objectId(kind, namespace, name));
}

function misplacedIn(
  { namespace }: Readonly<Record<string, unknown>>,
  expected: string,
): ClusterAnswer | undefined {
  return namespace === undefined || namespace === expected
    ? undefined
    : badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

function subjectOf({ plural, kind }: Asked, name: string): Subject {
  return { group: API_GROUP, plural, kind, name };
}

function secretSubject(body: unknown): Subject {
  return { group: '', plural: 'secrets', kind: 'Secret', name: nameIn(body) };
}

function nameIn(body: unknown): string {
  const metadata = isRecord(body) && isRecord(body.metadata) ? body.metadata : {};
  return typeof metadata.name === 'string' ? metadata.name : '';
}

const fileNameCharsMax = 200;

function fileNames(kind: string, namespace: string, name: string): readonly string[] {
  const stem = `${kind.toLowerCase()}-${name.slice(0, fileNameCharsMax)}`;
  const others = Array.from({ length: 8 }, (_, index) => `${stem}-${namespace}-${index + 2}`);
  return [stem, `${stem}-${namespace}`, ...others].map((each) => `${each}.yaml`);
}

async function replace(parts: FolderParts, { file, spot }: Place, text: string | undefined): Promise<void> {
  if (text !== undefined) expectShort(text);
  await expectTaken(parts, { file, content: text });
  await parts.replace(file, spot.content, text);
  await parts.refresh();
}

async function createFile(
  parts: FolderParts,
  names: readonly string[],
  object: object,
  isSecret: boolean,
): Promise<void> {
  const content = writeText(object);
  expectShort(content);
  // The check uses a name that no manifest has. The final name is known only when the file is written.
  await expectTaken(parts, { file: '.new.yaml', content });
  await parts.create(names, content, isSecret);
}

const problemsReportedMax = 3;

/** One wrong object would hold back every later change of the folder: a disabled key would keep working. */
async function expectTaken(parts: FolderParts, change: FileChange): Promise<void> {
  const problems = await parts.foresee(change);
  if (problems.length === 0) return;
  const more = problems.length - problemsReportedMax;
  const reported = [...problems.slice(0, problemsReportedMax), ...(more > 0 ? [`and ${more} more`] : [])];
  // There is no platform team to ask on a laptop.
  const hint = reported.some((problem) => problem.includes('spec.egress.allow'))
    ? ' In local mode only the namespace default reaches this machine: add it there.'
    : '';
  throw new EditRefused(`Nothing was written: ${reported.join('; ')}.${hint}`);
}

function expectShort(text: string): void {
  if (Buffer.byteLength(text) > FILE_BYTES_MAX)
    throw new EditRefused(
      `The file would be larger than ${FILE_BYTES_MAX} bytes (1 MiB). Move objects to another file first.`,
    );
}

/** For pages: they show the sentence. */
function refusalOf(subject: Subject, error: unknown): ClusterAnswer {
  if (error instanceof FileChanged)
    return conflict(subject, `${error.message}. Reload the page and try again`);
  if (error instanceof EditRefused) return badRequest(error.message);
  throw error;
}
