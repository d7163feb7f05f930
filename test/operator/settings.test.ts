// What does the operator make of its environment, and what does it say where that is wrong?

import { expect, test } from 'vitest';
import { anyAddress } from '../../core/telemetry/process-server.ts';
import { readSettings } from '../../operator/settings.ts';

const smallest = {
  PENSTOCK_NAMESPACE: 'penstock-system',
  PENSTOCK_TABLE_NAMESPACE: 'penstock-tables',
  PENSTOCK_GATEWAY_SELECTOR: 'app.kubernetes.io/component=gateway',
  PENSTOCK_POD_NAME: 'penstock-operator-0',
  PENSTOCK_BASE_URL: 'http://penstock.penstock-system.svc/v1',
};

test('optional settings have defaults', () => {
  expect(readSettings(smallest)).toEqual({
    instance: 'penstock',
    namespace: 'penstock-system',
    tableNamespace: 'penstock-tables',
    gatewaySelector: 'app.kubernetes.io/component=gateway',
    podName: 'penstock-operator-0',
    platform: {
      servicePrefix: 'penstock',
      keyPrefix: 'psk_',
      platformNamespaces: [],
      metadataPrefixes: [],
      egressAllow: [],
      egressDeny: [],
      hasExactLimits: false,
    },
    tenantNamespaces: [],
    baseUrl: 'http://penstock.penstock-system.svc/v1',
    host: anyAddress(),
    metricsPort: 9090,
    hasInternalTls: false,
    kubeCallsPerSecond: 200,
    kubeCallsBurst: 200,
    lastKnownGoodMs: 3_600_000,
    kubeconfig: undefined,
  });
});

test('every setting is read', () => {
  const settings = readSettings({
    ...smallest,
    PENSTOCK_INSTANCE: 'blue',
    PENSTOCK_SERVICE_PREFIX: 'acme',
    PENSTOCK_KEY_PREFIX: 'acme_',
    PENSTOCK_SECRET_METADATA_PREFIXES: 'reloader.example, team.example',
    PENSTOCK_TENANT_POLICIES_FILE: '/etc/penstock/objects.json',
    PENSTOCK_EGRESS_DENY: '93.184.0.0/16, 2a00:1450::/32',
    PENSTOCK_NETWORK_POLICY_RANGES: '["10.20.0.0/16"]',
    PENSTOCK_TENANT_NAMESPACES: 'team-a,team-b',
    PENSTOCK_HOST: '127.0.0.1',
    PENSTOCK_METRICS_PORT: '0',
    PENSTOCK_KUBE_QPS: '5',
    PENSTOCK_KUBE_BURST: '7',
    PENSTOCK_LIMITS_IN_STORE: 'true',
    KUBECONFIG: 'kubeconfig.yaml',
  });
  expect(settings).toMatchObject({
    instance: 'blue',
    platform: {
      servicePrefix: 'acme',
      keyPrefix: 'acme_',
      metadataPrefixes: ['reloader.example', 'team.example'],
      egressDeny: ['93.184.0.0/16', '2a00:1450::/32'],
      hasExactLimits: true,
    },
    policiesFile: '/etc/penstock/objects.json',
    networkPolicyRanges: ['10.20.0.0/16'],
    tenantNamespaces: ['team-a', 'team-b'],
    host: '127.0.0.1',
    metricsPort: 0,
    kubeCallsPerSecond: 5,
    kubeCallsBurst: 7,
    kubeconfig: 'kubeconfig.yaml',
  });
});

test('an empty value counts as unset', () => {
  const settings = readSettings({ ...smallest, PENSTOCK_TENANT_POLICIES_FILE: '', PENSTOCK_INSTANCE: '' });
  expect(settings.policiesFile).toBeUndefined();
  expect(settings.instance).toBe('penstock');
});

test('settings cannot be changed', () => {
  expect(Object.isFrozen(readSettings(smallest))).toBe(true);
});

test.each([
  ['PENSTOCK_INSTANCE', 'Blue', /lower-case DNS label/],
  ['PENSTOCK_INSTANCE', 'x'.repeat(41), /at most 40/],
  ['PENSTOCK_NAMESPACE', 'a/b', /name of a namespace/],
  ['PENSTOCK_TABLE_NAMESPACE', undefined, /name of a namespace/],
  ['PENSTOCK_GATEWAY_SELECTOR', undefined, /label selector/],
  ['PENSTOCK_POD_NAME', undefined, /name of this Pod/],
  ['PENSTOCK_SERVICE_PREFIX', 'a/b', /such as penstock/],
  ['PENSTOCK_KEY_PREFIX', 'with space', /such as psk_/],
  ['PENSTOCK_TENANT_NAMESPACES', '*', /"\*" is not a namespace name/],
  ['PENSTOCK_NETWORK_POLICY_RANGES', '["10.0.0.0"]', /JSON list of ranges/],
  ['PENSTOCK_EGRESS_DENY', '93.184.0.0', /egress\.deny\[0\]/],
  ['PENSTOCK_SECRET_METADATA_PREFIXES', 'a/b', /prefixes of labels/],
  ['PENSTOCK_SECRET_METADATA_PREFIXES', 'penstock.dev', /penstock\.dev is for the operator/],
  ['PENSTOCK_BASE_URL', 'penstock.example', /address of the gateways/],
  ['PENSTOCK_BASE_URL', undefined, /address of the gateways/],
  ['PENSTOCK_METRICS_PORT', '70000', /65535/],
  ['PENSTOCK_METRICS_PORT', 'http', /65535/],
  ['PENSTOCK_KUBE_QPS', '0', /above 0/],
  ['PENSTOCK_KUBE_BURST', 'many', /whole number/],
  ['PENSTOCK_KUBE_BURST', '0.5', /whole number from 1/],
])('%s: %s is refused by name, with what it should be', (name, value, sentence) => {
  const environment = { ...smallest, [name]: value };
  expect(() => readSettings(environment)).toThrow(sentence);
  expect(() => readSettings(environment)).toThrow(new RegExp(`^Invalid environment: ${name}: `));
});

test('all errors are reported at once', () => {
  expect(() => readSettings({})).toThrow(
    /PENSTOCK_NAMESPACE.*PENSTOCK_TABLE_NAMESPACE.*PENSTOCK_GATEWAY_SELECTOR.*PENSTOCK_POD_NAME.*PENSTOCK_BASE_URL/,
  );
});
