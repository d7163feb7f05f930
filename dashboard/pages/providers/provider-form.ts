// Which three objects does the provider form describe? Pure: the checks of the kinds, before anything is sent.

import type { Problems } from '../keys/key-form.ts';
import { type Api, PROVIDER_TYPES, type ProviderType } from '../words/choices.ts';
import { namePattern, namespacePattern, namespaceProblem } from '../words/names.ts';

export interface ProviderForm {
  readonly namespace: string;
  readonly name: string;
  readonly type: ProviderType;
  /** Empty where the type knows its own. */
  readonly baseUrl: string;
  /** Asked for where the type does not know its own. */
  readonly apis: readonly Api[];
  /** Empty: the upstream takes none. */
  readonly key: string;
  /** Id by which callers ask. */
  readonly model: string;
  readonly upstreamModel: string;
}

export const emptyProviderForm: ProviderForm = {
  namespace: '',
  name: '',
  type: 'OpenAICompatible',
  baseUrl: '',
  apis: ['ChatCompletions'],
  key: '',
  model: '',
  upstreamModel: '',
};

const upstreamModelPattern = /^[A-Za-z0-9@~_][A-Za-z0-9._:/@+~=%,-]*$/;
const modelPattern = /^[A-Za-z0-9][A-Za-z0-9._:@+-]*(\/[A-Za-z0-9][A-Za-z0-9._:@+-]*)*$/;

/** Empty: everything may be sent. */
export function checkProviderForm(form: ProviderForm): Problems<ProviderForm> {
  const problems: { -readonly [Name in keyof ProviderForm]?: string } = {};
  const type = PROVIDER_TYPES[form.type];
  if (!namespacePattern.test(form.namespace)) problems.namespace = namespaceProblem(form.namespace);
  if (!namePattern.test(form.name) || form.name.length > 253)
    problems.name =
      'Only lower-case letters, digits and "-", with a letter or digit at both ends: own-models.';
  if (form.baseUrl === '') {
    if (type.needsUrl)
      problems.baseUrl = `${type.label} needs an address, such as https://models.example.com/v1.`;
  } else {
    const fault = faultOfUrl(form.baseUrl);
    if (fault !== undefined) problems.baseUrl = fault;
    else if (form.key !== '' && form.baseUrl.startsWith('http:') && type.needsKey)
      problems.baseUrl = 'Keys are not sent over plain http. Use https.';
  }
  if (type.needsApis && form.apis.length === 0)
    problems.apis = 'Choose at least one. Most servers speak chat completions.';
  if (form.key === '' && type.needsKey) problems.key = `${type.label} requires a key.`;
  else if (!/^[!-~]*$/.test(form.key))
    problems.key = 'A key has only ASCII characters, without spaces or line breaks.';
  if (!modelPattern.test(form.model) || form.model.length > 200)
    problems.model = 'Enter a model id, such as llama or own/llama-4.';
  if (!upstreamModelPattern.test(form.upstreamModel) || form.upstreamModel.length > 256)
    problems.upstreamModel = 'Enter the model name of the provider.';
  return problems;
}

// The expressions are those of the kind. What is refused in general is told apart before, for a message that says what to change.
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
  const host = hostToAllow(form.baseUrl);
  const hasKey = form.key !== '';
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace,
      labels: { 'penstock.dev/provider-credential': 'true' },
      ...(host === undefined ? {} : { annotations: { 'penstock.dev/allowed-hosts': host } }),
    },
    type: 'Opaque',
    stringData: { key: form.key },
  };
  const provider = {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'Provider',
    metadata: { name, namespace },
    spec: {
      type,
      ...(form.baseUrl === '' ? {} : { baseURL: form.baseUrl }),
      ...(PROVIDER_TYPES[type].needsApis ? { apis: [...form.apis] } : {}),
      auth: hasKey
        ? { type: 'ApiKey', keys: [{ name: 'main', secretRef: { name, key: 'key' } }] }
        : { type: 'None' },
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
  return { secret: hasKey ? secret : undefined, provider, route };
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

/** What stands in YAML in place of a key: nobody is to commit one. */
export const KEY_PLACEHOLDER = 'put-the-key-here';
