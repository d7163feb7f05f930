// Which objects does the provider form describe, and what is changed in a Provider that is there? Pure.

import type { FieldProblems } from '../parts/refused-fields.ts';
import { type Api, PROVIDER_TYPES, type ProviderType, SIGN_INS, type SignIn } from '../words/choices.ts';
import type { Provider } from '../words/kube.ts';
import { namePattern, namespacePattern, namespaceProblem } from '../words/names.ts';
import { type CallersForm, callersIn, callersPatch, callersProblem, emptyCallers } from './callers-form.ts';

type HealthCheck = 'ListModels' | 'HTTPGet' | 'Completion' | 'Disabled';

export interface ProviderForm extends CallersForm {
  readonly namespace: string;
  readonly name: string;
  readonly type: ProviderType;
  /** Empty where the type knows its own. */
  readonly baseUrl: string;
  /** Asked for where the type does not know its own. */
  readonly apis: readonly Api[];
  /** The options of the type. */
  readonly options: Readonly<Record<string, string>>;
  /** By an identity of the type's cloud; otherwise by a key, or none. */
  readonly hasIdentity: boolean;
  /** Of the identity, by its fields. */
  readonly identity: Readonly<Record<string, string>>;
  /** A new one, for a new Secret. */
  readonly key: string;
  /** Its name. Empty with a key: that of the provider; empty without one: the upstream takes none. */
  readonly secret: string;
  /** In the data of the Secret; empty: `key`. */
  readonly secretKey: string;
  readonly caKind: 'ConfigMap' | 'Secret';
  /** Empty: the public authorities. */
  readonly caName: string;
  readonly caKey: string;
  /** Empty: left to the operator. */
  readonly check: '' | HealthCheck;
  readonly checkPath: string;
  readonly checkModel: string;
  /** Id by which callers ask; of a new provider alone. */
  readonly model: string;
  readonly upstreamModel: string;
}

export const emptyProviderForm: ProviderForm = {
  namespace: '',
  name: '',
  type: 'OpenAICompatible',
  baseUrl: '',
  apis: ['ChatCompletions'],
  options: {},
  hasIdentity: false,
  identity: {},
  key: '',
  secret: '',
  secretKey: '',
  caKind: 'ConfigMap',
  caName: '',
  caKey: '',
  check: '',
  checkPath: '',
  checkModel: '',
  ...emptyCallers,
  model: '',
  upstreamModel: '',
};

export const upstreamModelPattern = /^[A-Za-z0-9@~_][A-Za-z0-9._:/@+~=%,-]*$/;
export const modelPattern = /^[A-Za-z0-9][A-Za-z0-9._:@+-]*(\/[A-Za-z0-9][A-Za-z0-9._:@+-]*)*$/;

/** Undefined: it takes a key, or none. */
export const signInOf = ({ type, hasIdentity }: ProviderForm): SignIn | undefined =>
  hasIdentity ? SIGN_INS[type] : undefined;

/** By the paths of the objects, as an API server names them. Empty: everything may be sent. */
export function checkProviderForm(form: ProviderForm): FieldProblems {
  const problems: Record<string, string> = {};
  if (!namespacePattern.test(form.namespace)) problems.namespace = namespaceProblem(form.namespace);
  if (!namePattern.test(form.name) || form.name.length > 253)
    problems.name =
      'Only lower-case letters, digits and "-", with a letter or digit at both ends: own-models.';
  Object.assign(problems, checkUpstream(form));
  if (!modelPattern.test(form.model) || form.model.length > 200)
    problems.model = 'Enter a model id, such as llama or own/llama-4.';
  if (!upstreamModelPattern.test(form.upstreamModel) || form.upstreamModel.length > 256)
    problems['targets[0].upstreamModel'] = 'Enter the model name of the provider.';
  return problems;
}

/** Checks an edit of an existing Provider. */
export function checkProviderEdit(form: ProviderForm, before: Provider): FieldProblems {
  const problems: Record<string, string> = { ...checkUpstream(form) };
  if (form.key !== '' && form.secret === before.spec.auth?.keys?.[0]?.secretRef?.name)
    problems.secret ??= 'A new key needs a new Secret. Choose another name.';
  return problems;
}

function checkUpstream(form: ProviderForm): FieldProblems {
  const problems: Record<string, string> = {};
  const type = PROVIDER_TYPES[form.type];
  const hasKey = form.key !== '' || form.secret !== '';
  if (form.baseUrl === '') {
    if (type.needsUrl)
      problems.baseURL = `${type.label} needs an address, such as ${placeholderOf(form.type)}.`;
  } else {
    const fault = faultOfUrl(form.baseUrl);
    if (fault !== undefined) problems.baseURL = fault;
    else if (hasKey && form.baseUrl.startsWith('http:') && type.needsKey)
      problems.baseURL = 'Keys are not sent over plain http. Use https.';
  }
  if (type.needsApis && form.apis.length === 0)
    problems.apis = 'Choose at least one. Most servers speak chat completions.';
  const signIn = signInOf(form);
  if (signIn !== undefined) {
    const isMissing = (name: string) => (form.identity[name] ?? '') === '';
    for (const name of hasKey ? signIn.requiredWithKeys.filter(isMissing) : [])
      problems[`auth.${signIn.member}.${name}`] = 'Required with credentials.';
  } else if (!hasKey && type.needsKey) problems.auth = `${type.label} requires a key.`;
  else if (!/^[!-~]*$/.test(form.key))
    problems.auth = 'A key has only ASCII characters, without spaces or line breaks.';
  if (form.secret !== '' && !isName(form.secret)) problems.secret = 'Enter the name of a Secret.';
  if (form.secretKey !== '' && !/^[-._A-Za-z0-9]{1,253}$/.test(form.secretKey))
    problems.secretKey = 'Only letters, digits, "-", "_" and ".".';
  if (form.caName !== '' && !isName(form.caName))
    problems['tls.caRef'] = `Enter the name of a ${form.caKind}.`;
  if (form.check === 'HTTPGet' && !form.checkPath.startsWith('/'))
    problems['healthCheck.active.path'] = 'Enter a path, such as /health.';
  if (form.check === 'Completion' && form.checkModel === '')
    problems['healthCheck.active.model'] = 'Enter the model name of the provider.';
  return { ...problems, ...callersProblem(form) };
}

const isName = (text: string) => namePattern.test(text) && text.length <= 253;

/** What an address of that type looks like; empty: the type knows its own. */
export function placeholderOf(type: ProviderType): string {
  if (type === 'Ollama') return 'http://localhost:11434/v1';
  return PROVIDER_TYPES[type].needsUrl ? 'https://models.example.com/v1' : '';
}

// The expressions are those of the kind. Common faults have their own message, which says what to change.
const urlPattern =
  /^https?:\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(\/([A-Za-z0-9._~!$&()*+,;=:-]|%[0-9A-Fa-f]{2})+)*$/;
const numericHost = /^[a-z0-9]+:\/\/([^/:]*[.])?([0-9]+|0[xX][0-9A-Fa-f]*)[.]?(:|\/|$)/;
const ipv4Host =
  /^[a-z0-9]+:\/\/((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(:|\/|$)/;

function faultOfUrl(text: string): string | undefined {
  if (!/^https?:\/\/./.test(text))
    return 'Enter an http or https address, such as https://models.example.com/v1.';
  if (text.length > 1024) return 'At most 1,024 characters.';
  if (/[?#]/.test(text)) return 'Remove everything from ? or # on.';
  if (text.includes('@')) return 'Remove user and password. The key has its own field.';
  if (text.endsWith('/')) return 'Remove the slash at the end.';
  if (/\/\.{1,2}(\/|$)/.test(text)) return 'Remove "." and ".." from the path.';
  if (numericHost.test(text) && !ipv4Host.test(text))
    return 'Write an IPv4 address as four decimal numbers, such as 10.0.0.1.';
  if (!urlPattern.test(text) || !URL.canParse(text))
    return 'Not a valid address. Check host, port and double slashes.';
  return undefined;
}

/** In the order in which they are made: what is named comes before what names it. */
export function buildProviderObjects(form: ProviderForm) {
  const { namespace, name, type } = form;
  const callers = callersIn(form);
  const options = filled(form.options);
  const provider = {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'Provider',
    metadata: { name, namespace },
    spec: {
      type,
      ...(form.baseUrl === '' ? {} : { baseURL: form.baseUrl }),
      ...(PROVIDER_TYPES[type].needsApis ? { apis: [...form.apis] } : {}),
      ...(Object.keys(options).length === 0 ? {} : { options }),
      auth: authOf(form),
      ...(form.caName === '' ? {} : { tls: { caRef: caRefOf(form) } }),
      ...(form.check === '' ? {} : { healthCheck: { active: checkOf(form) } }),
      ...(callers === undefined ? {} : { allowedNamespaces: callers }),
    },
  };
  const route = {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'ModelRoute',
    metadata: { name: routeNameOf(form.model), namespace },
    spec: {
      model: form.model,
      targets: [{ name: 'main', providerRef: { name }, upstreamModel: form.upstreamModel }],
    },
  };
  return { secret: buildSecret(form), provider, route };
}

/** Fields without a value are left out. */
const filled = (fields: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== ''));

function authOf(form: ProviderForm): object {
  const signIn = signInOf(form);
  const hasKey = form.key !== '' || form.secret !== '';
  const keys = hasKey ? { keys: [{ name: 'main', secretRef: secretRefOf(form) }] } : {};
  if (signIn === undefined) return { type: hasKey ? 'ApiKey' : 'None', ...keys };
  const identity = filled(form.identity);
  const isPlain = Object.keys(identity).length === 0;
  return { type: signIn.cloud, ...(isPlain ? {} : { [signIn.member]: identity }), ...keys };
}

/** Undefined: no new key was entered. */
export function buildSecret(form: ProviderForm) {
  if (form.key === '') return undefined;
  const host = hostToAllow(form.baseUrl);
  const { name, key } = secretRefOf(form);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: form.namespace,
      labels: { 'penstock.dev/provider-credential': 'true' },
      ...(host === undefined ? {} : { annotations: { 'penstock.dev/allowed-hosts': host } }),
    },
    type: 'Opaque',
    stringData: { [key]: form.key },
  };
}

const secretRefOf = ({ name, secret, secretKey }: ProviderForm) => ({
  name: secret === '' ? name : secret,
  key: secretKey === '' ? 'key' : secretKey,
});

const caRefOf = ({ caKind, caName, caKey }: ProviderForm) => ({
  ...(caKind === 'ConfigMap' ? {} : { kind: caKind }),
  name: caName,
  ...(caKey === '' ? {} : { key: caKey }),
});

const checkOf = ({ check, checkPath, checkModel }: ProviderForm) => ({
  type: check,
  ...(check === 'HTTPGet' ? { path: checkPath } : {}),
  ...(check === 'Completion' ? { model: checkModel } : {}),
});

/** The form of a Provider that is there, to be edited. */
export function providerFormOf({ metadata, spec }: Provider): ProviderForm {
  const { name: secret = '', key: secretKey = '' } = spec.auth?.keys?.[0]?.secretRef ?? {};
  const { kind: caKind = 'ConfigMap', name: caName = '', key: caKey = '' } = spec.tls?.caRef ?? {};
  const type = spec.type as ProviderType;
  const signIn = spec.auth?.type === SIGN_INS[type]?.cloud ? SIGN_INS[type] : undefined;
  const { type: check = '', path: checkPath = '', model: checkModel = '' } = spec.healthCheck?.active ?? {};
  return {
    ...emptyProviderForm,
    namespace: metadata.namespace,
    name: metadata.name,
    type,
    baseUrl: spec.baseURL ?? '',
    apis: (spec.apis ?? []) as readonly Api[],
    options: spec.options ?? {},
    hasIdentity: signIn !== undefined,
    identity: (signIn && (spec.auth?.[signIn.member] as ProviderForm['identity'])) ?? {},
    ...{ secret, secretKey, caKind, caName, caKey, checkPath, checkModel },
    check: check as ProviderForm['check'],
    callers: spec.allowedNamespaces?.from ?? 'Same',
    callerNames: (spec.allowedNamespaces?.names ?? []).join(', '),
  };
}

/** A merge patch of what was changed: what was taken away is null, and what the form does not show stays as it is. */
export function providerPatch(before: Provider, form: ProviderForm): { readonly spec: object } {
  const was = providerFormOf(before);
  const differs = (...names: readonly (keyof ProviderForm)[]) =>
    names.some((name) => JSON.stringify(was[name]) !== JSON.stringify(form[name]));
  const options = Object.entries(form.options).map(([name, text]) => [name, text === '' ? null : text]);
  return {
    spec: {
      ...(differs('baseUrl') ? { baseURL: form.baseUrl === '' ? null : form.baseUrl } : {}),
      ...(differs('apis') ? { apis: form.apis.length === 0 ? null : form.apis } : {}),
      ...(differs('options') ? { options: Object.fromEntries(options) } : {}),
      ...(differs('key', 'secret', 'secretKey', 'hasIdentity', 'identity')
        ? { auth: authPatch(before, form) }
        : {}),
      ...(differs('caKind', 'caName', 'caKey')
        ? { tls: { caRef: form.caName === '' ? null : { kind: null, key: null, ...caRefOf(form) } } }
        : {}),
      ...(differs('check', 'checkPath', 'checkModel')
        ? {
            healthCheck: { active: form.check === '' ? null : { path: null, model: null, ...checkOf(form) } },
          }
        : {}),
      ...(differs('callers', 'callerNames') ? { allowedNamespaces: callersPatch(form) } : {}),
    },
  };
}

/** The form shows the first key; further ones stay. */
function authPatch(before: Provider, form: ProviderForm): object {
  const { type = 'None', keys: present = [] } = before.spec.auth ?? {};
  const [first = { name: 'main' }, ...others] = present;
  const isGone = form.key === '' && form.secret === '';
  const keys = isGone ? others : [{ ...first, secretRef: secretRefOf(form) }, ...others];
  const changed = { keys: keys.length > 0 ? keys : null };
  const signIn = signInOf(form);
  const was = signInOf(providerFormOf(before));
  if (signIn === undefined) {
    const isOther = type === 'None' || was !== undefined;
    const keyed = isOther ? 'ApiKey' : type;
    return { type: keys.length > 0 ? keyed : 'None', ...changed, ...(was && { [was.member]: null }) };
  }
  const fields = Object.entries(form.identity);
  const identity = fields.every(([, text]) => text === '')
    ? null
    : Object.fromEntries(fields.map(([name, text]) => [name, text === '' ? null : text]));
  return { type: signIn.cloud, ...changed, [signIn.member]: identity, ...(was ? {} : { header: null }) };
}

/** For a new key: a Secret is made here and never changed. */
export function nextSecretName(name: string): string {
  const [, base = name, number = '1'] = /^(.*?)-([1-9][0-9]{0,3})$/.exec(name) ?? [];
  return `${base}-${Number(number) + 1}`;
}

/** As the annotation of a Secret names it: https without its scheme, plain http with it. */
export function hostToAllow(baseUrl: string): string | undefined {
  if (!URL.canParse(baseUrl)) return undefined;
  const url = new URL(baseUrl);
  return url.protocol === 'http:' ? `http://${url.host}` : url.host;
}

/** A name of Kubernetes for a model id. */
export function routeNameOf(model: string): string {
  return (
    model
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 200)
      .replace(/^-+|-+$/g, '') || 'model'
  );
}

/** Replaces the key in the YAML, so that a key is not committed by mistake. */
export const KEY_PLACEHOLDER = 'put-the-key-here';
