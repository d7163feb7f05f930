// Does a Secret value go only where its owner lends it: label, type, host, in every spelling?

import { describe, expect, test } from 'vitest';
import { PLATFORM, provider, secret, snapshot } from '../make.ts';
import { compileOnce, condition } from './support.ts';

const LABEL = 'penstock.dev/provider-credential';
const HOSTS = 'penstock.dev/allowed-hosts';

function judge(baseURL: string | undefined, fields: Parameters<typeof secret>[0], type = 'OpenAICompatible') {
  const spec = baseURL === undefined ? { type } : { type, apis: ['ChatCompletions'], baseURL };
  const result = compileOnce(snapshot({ providers: [provider(spec)], secrets: [secret(fields)] }));
  return { result, ...condition(result, 'Provider', 'team-a/openai', 'ResolvedRefs') };
}
const bound = (hosts: string) => ({ annotations: { [HOSTS]: hosts } });

describe('the label', () => {
  test.each([
    ['absent', {}],
    ['false', { [LABEL]: 'false' }],
    ['in upper case', { [LABEL]: 'True' }],
    ['on another name', { 'penstock.dev/provider-credentials': 'true' }],
  ])('%s: the Secret is not used, and the message has the command that shares it', (_, labels) => {
    const { status, reason, message, result } = judge(undefined, { labels }, 'OpenAI');
    expect([status, reason]).toEqual(['False', 'SecretNotOptedIn']);
    expect(message).toContain(`kubectl -n team-a label secret openai ${LABEL}=true`);
    expect(JSON.stringify(result.table)).not.toContain('sk-upstream');
  });

  test('of a Secret without consent is reported alone: neither keys nor hosts', () => {
    const { reason } = judge('https://a.example/v1', { labels: {}, data: {} });
    expect(reason).toBe('SecretNotOptedIn');
  });
});

describe('the type', () => {
  test.each([
    'kubernetes.io/service-account-token',
    'kubernetes.io/tls',
    'kubernetes.io/dockerconfigjson',
    'kubernetes.io/basic-auth',
    'kubernetes.io/ssh-auth',
    'bootstrap.kubernetes.io/token',
    'helm.sh/release.v1',
    'penstock.dev/table-shard',
    '',
  ])('%s is refused, label or not', (type) => {
    expect(judge(undefined, { type }, 'OpenAI').reason).toBe('SecretTypeNotAllowed');
  });

  test.each(['Opaque', 'penstock.dev/provider-credential'])('%s is taken', (type) => {
    expect(judge(undefined, { type }, 'OpenAI').status).toBe('True');
  });
});

describe('the host', () => {
  test.each([
    ['the very host', 'https://a.example/v1', 'a.example'],
    ['one of several', 'https://a.example/v1', 'b.example, a.example,c.example'],
    ['in other case', 'https://A.example/v1', 'a.EXAMPLE'],
    ['the default port, written out there', 'https://a.example/v1', 'a.example:443'],
    ['the default port, written out here', 'https://a.example:443/v1', 'a.example'],
    ['another port', 'https://a.example:8443/v1', 'a.example:8443'],
    ['https, written out there', 'https://a.example/v1', 'https://a.example'],
    ['plain http, written out there', 'http://a.example/v1', 'http://a.example'],
    ['plain http on another port, written out there', 'http://a.example:8080/v1', 'http://a.example:8080'],
    ['an IPv6 address', 'https://[2606:4700::1]:8443/v1', '[2606:4700:0::1]:8443'],
  ])('%s is allowed', (_, url, hosts) => {
    expect(judge(url, bound(hosts)).status).toBe('True');
  });

  test.each([
    ['no annotation', 'https://a.example/v1', undefined],
    ['an empty one', 'https://a.example/v1', ''],
    ['another host', 'https://a.example/v1', 'b.example'],
    ['a subdomain', 'https://x.a.example/v1', 'a.example'],
    ['a parent', 'https://a.example/v1', 'x.a.example'],
    ['a wildcard', 'https://x.a.example/v1', '*.a.example'],
    ['a star', 'https://a.example/v1', '*'],
    ['a whole URL', 'https://a.example/v1', 'https://a.example/v1'],
    ['plain http to a host', 'http://a.example/v1', 'a.example'],
    ['plain http to its port for https', 'http://a.example:443/v1', 'a.example:443'],
    ['plain http to its port', 'http://a.example:8443/v1', 'a.example:8443'],
    ['plain http where https is written out', 'http://a.example:443/v1', 'https://a.example'],
    ['https where http is written out', 'https://a.example/v1', 'http://a.example:443'],
    ['a path', 'https://a.example/v1', 'a.example/v1'],
    ['user info', 'https://a.example/v1', 'b.example@a.example'],
    ['another port', 'https://a.example:8443/v1', 'a.example'],
    ['no port, but https is asked for on that of http', 'https://a.example:80/v1', 'a.example'],
    ['a trailing dot', 'https://a.example./v1', 'a.example'],
    ['spaces for commas', 'https://a.example/v1', 'b.example a.example'],
  ])('%s is not', (_, url, hosts) => {
    const { reason, message, result } = judge(url, hosts === undefined ? {} : bound(hosts));
    expect(reason).toBe('HostNotAllowed');
    expect(message).toContain(HOSTS);
    expect(result.table.credentials).toEqual([]);
  });

  test.each(['10.0.0.1', '10.0.0.1:8000', 'vllm.team-a.svc:8000'])(
    'plain http to %s, which only the platform opens, needs no scheme',
    (host) => {
      const spec = { type: 'OpenAICompatible', apis: ['ChatCompletions'], baseURL: `http://${host}/v1` };
      const platform = { ...PLATFORM, egressAllow: [{ cidr: '10.0.0.0/8', namespaces: ['team-a'] }] };
      const secrets = [secret(bound(host))];
      const { table } = compileOnce(snapshot({ providers: [provider(spec)], secrets, platform }));
      expect(table.credentials).toHaveLength(1);
    },
  );

  test('the annotation after the command of the message is accepted', () => {
    const url = 'http://a.example:8080/v1';
    const { message } = judge(url, bound('a.example'));
    const [, entry = ''] = /,'(\S+)'$/.exec(message) ?? [];
    expect(judge(url, bound(`a.example,${entry}`)).status).toBe('True');
  });

  test('without an annotation the built-in host of the type is allowed, and nothing else', () => {
    expect(judge(undefined, {}, 'OpenAI').status).toBe('True');
    expect(judge('https://api.openai.com/v1', {}, 'OpenAI').status).toBe('True');
    expect(judge('https://api.openai.com:444/v1', {}, 'OpenAI').reason).toBe('HostNotAllowed');
    expect(judge('https://api.openai.com/v1', {}, 'Mistral').reason).toBe('HostNotAllowed');
    expect(judge('https://api.openai.com/v1', {}).reason).toBe('HostNotAllowed');
  });

  test('an annotation that leaves the built-in host out closes it', () => {
    expect(judge(undefined, bound('a.example'), 'OpenAI').reason).toBe('HostNotAllowed');
  });

  test('the table binds the value to the one host in use', () => {
    const { result } = judge('https://a.example:8443/v1', bound('b.example,a.example:8443'));
    expect(result.table.credentials.map(({ hosts }) => hosts)).toEqual([['a.example:8443']]);
  });
});

describe('the value', () => {
  test.each([
    ['a line break at its end is dropped', 'sk-1\n', 'sk-1'],
    ['also one from Windows', 'sk-1\r\n', 'sk-1'],
  ])('%s', (_, key, value) => {
    const { result } = judge(undefined, { data: { key } }, 'OpenAI');
    expect(result.table.credentials[0]?.value).toBe(value);
  });

  test.each(['sk-a\nb', 'sk-a\n\n', ' sk-a', 'sk-a ', 'sk-a\r\nHost: b', 'schlüssel', 'sk-\u0000', '\n'])(
    '%j is not allowed in a header',
    (key) => {
      const { reason, message, result } = judge(undefined, { data: { key } }, 'OpenAI');
      expect(reason).toBe('SecretValueInvalid');
      expect(message).not.toContain(key);
      expect(result.table.credentials).toEqual([]);
    },
  );

  test.each([{}, { key: '' }, { other: 'x' }])('%j: no such key', (data) => {
    expect(judge(undefined, { data }, 'OpenAI').reason).toBe('KeyNotFound');
  });

  test.each(['constructor', '__proto__', 'toString'])('the key %s is looked for in the data alone', (key) => {
    const spec = { auth: { keys: [{ name: 'main', secretRef: { name: 'openai', key } }] } };
    const result = compileOnce(snapshot({ providers: [provider(spec)], secrets: [secret()] }));
    expect(condition(result, 'Provider', 'team-a/openai', 'ResolvedRefs').reason).toBe('KeyNotFound');
  });
});

test('headers have the same conditions as keys', () => {
  const headers = [{ name: 'X-A', valueFrom: { secretKeyRef: { name: 'other', key: 'key' } } }];
  const judgeHeader = (fields: Parameters<typeof secret>[0]) => {
    const secrets = [secret(), secret({ name: 'other', ...fields })];
    const result = compileOnce(snapshot({ providers: [provider({ headers })], secrets }));
    return condition(result, 'Provider', 'team-a/openai', 'ResolvedRefs').reason;
  };
  expect(judgeHeader({ labels: {} })).toBe('SecretNotOptedIn');
  expect(judgeHeader({ type: 'kubernetes.io/tls' })).toBe('SecretTypeNotAllowed');
  expect(judgeHeader(bound('a.example'))).toBe('HostNotAllowed');
  expect(judgeHeader({})).toBe('ResolvedRefs');
});

describe('an internal address is refused in every spelling', () => {
  const spellings = [
    '127.0.0.1',
    'localhost',
    'LOCALHOST.',
    'foo.localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.169.254',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:7f00:1::]',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'kubernetes',
    'kubernetes.default.svc',
    'vllm.team-b.svc.cluster.local',
    'metadata.google.internal',
  ];
  test.each(spellings)('%s', (host) => {
    const result = compileHost(host);
    expect(condition(result, 'Provider', 'team-a/openai', 'ResolvedRefs')).toMatchObject({
      status: 'False',
      reason: 'EndpointNotAllowed',
    });
    expect(result.table.providers).toEqual([]);
  });

  // Four decimal numbers are the only spelling that the schema knows: the API server refuses these already.
  const foreignSpellings = ['127.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '0177.0.0.1'];
  test.each(foreignSpellings)('%s is not an address', (host) => {
    const result = compileHost(host);
    const accepted = condition(result, 'Provider', 'team-a/openai', 'Accepted');
    expect(accepted).toMatchObject({ status: 'False', reason: 'Invalid' });
    expect(accepted.message).toContain('spec.baseURL');
    expect(result.table.providers).toEqual([]);
  });

  function compileHost(host: string) {
    const spec = {
      type: 'OpenAICompatible',
      apis: ['ChatCompletions'],
      baseURL: `http://${host}/v1`,
      auth: { type: 'None' },
    };
    return compileOnce(snapshot({ providers: [provider(spec)] }));
  }

  test('an address opened for one namespace is open to that namespace alone', () => {
    const spec = {
      type: 'OpenAICompatible',
      apis: ['ChatCompletions'],
      baseURL: 'http://10.0.0.1/v1',
      auth: { type: 'None' },
    };
    const platform = { ...PLATFORM, egressAllow: [{ cidr: '10.0.0.0/8', namespaces: ['team-a'] }] };
    const providers = ['team-a', 'team-b'].map((namespace) => provider(spec, { namespace }));
    const { table } = compileOnce(snapshot({ providers, platform }));
    expect(table.providers.map(({ id }) => id)).toEqual(['team-a/openai']);
  });
});

describe('credentials of AWS', () => {
  const file = '[default]\naws_access_key_id = AKIDEXAMPLE0123456\naws_secret_access_key = s3cr3t/+\n';
  const host = 'bedrock-runtime.eu-west-1.amazonaws.com';

  function judgeAws(value: string, type = 'AWS') {
    const keys = [{ name: 'main', secretRef: { name: 'openai', key: 'key' } }];
    const spec = { type: 'Bedrock', baseURL: `https://${host}`, auth: { type, keys } };
    const fields = { annotations: { [HOSTS]: host }, data: { key: value } };
    const result = compileOnce(snapshot({ providers: [provider(spec)], secrets: [secret(fields)] }));
    return { result, ...condition(result, 'Provider', 'team-a/openai', 'ResolvedRefs') };
  }

  test('are a credentials file, unchanged', () => {
    const { status, result } = judgeAws(file);
    expect(status).toBe('True');
    expect(result.table.providers[0]?.keys).toHaveLength(1);
  });

  test('in another form are refused with the name of their key alone', () => {
    const { status, reason, message } = judgeAws('AKIDEXAMPLE0123456:s3cr3t');
    expect([status, reason]).toEqual(['False', 'SecretValueInvalid']);
    expect(message).toContain('is not an AWS credentials file with one profile');
    expect(message).not.toContain('s3cr3t');
  });

  test('are not accepted for a header', () => {
    expect(judgeAws(file, 'ApiKey').reason).toBe('SecretValueInvalid');
  });
});
