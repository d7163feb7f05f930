// Is this an object of the API server? The few members that every object has, read out of unknown JSON.

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Members besides `metadata` are unknown; parse them before use. Items of a list may lack apiVersion and kind. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/**
 * The same object, without `managedFields`: they are unused here, and half of many objects.
 *
 * @throws {TypeError} that names the member, never its value: it may be a Secret.
 */
export function parseObject(value: unknown): KubeObject {
  if (!isRecord(value)) throw new TypeError('This is not an object');
  if (isRecord(value.metadata)) delete value.metadata.managedFields;
  const wrong = wrongMember(value);
  if (wrong !== undefined) throw new TypeError(`${wrong} does not have the form of a Kubernetes object`);
  if (!isKubeObject(value)) throw new TypeError('This is not an object of the API');
  return value;
}

/** `namespace/name`, or `name` if there is no namespace. */
export function keyOf(object: { readonly metadata: ObjectMeta }): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isKubeObject(value: Record<string, unknown>): value is Record<string, unknown> & KubeObject {
  return wrongMember(value) === undefined;
}

const metaStrings = ['namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp'];

function wrongMember(value: Record<string, unknown>): string | undefined {
  const { apiVersion, kind, metadata } = value;
  if (!isOptional(apiVersion, 'string')) return 'apiVersion';
  if (!isOptional(kind, 'string')) return 'kind';
  if (!isRecord(metadata)) return 'metadata';
  if (typeof metadata.name !== 'string' || metadata.name === '') return 'metadata.name';
  for (const name of metaStrings) if (!isOptional(metadata[name], 'string')) return `metadata.${name}`;
  if (!isOptional(metadata.generation, 'number')) return 'metadata.generation';
  for (const name of ['labels', 'annotations']) {
    if (metadata[name] !== undefined && !isStringMap(metadata[name])) return `metadata.${name}`;
  }
  return undefined;
}

function isOptional(value: unknown, type: 'string' | 'number'): boolean {
  return value === undefined || typeof value === type;
}

function isStringMap(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((member) => typeof member === 'string');
}
