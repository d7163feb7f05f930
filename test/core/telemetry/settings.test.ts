// What do the standard variables of OpenTelemetry bring about here?

import { describe, expect, test } from 'vitest';
import { readTelemetrySettings } from '../../../core/telemetry/settings.ts';

const endpoint = 'http://collector:4318';
const read = (environment: Readonly<Record<string, string>>) =>
  readTelemetrySettings(environment, 'penstock-gateway');

describe('nothing is sent', () => {
  test.each([
    ['without an endpoint', {}],
    ['where it is empty, which is as if it were not set', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    [
      'where OpenTelemetry is switched off',
      { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'TRUE' },
    ],
    ['with all else but an endpoint', { OTEL_TRACES_SAMPLER: 'always_on', OTEL_SERVICE_NAME: 'x' }],
  ])('%s', (_, environment) => {
    expect(read(environment)).toBeUndefined();
  });
});

test('a common endpoint holds for all signals; an endpoint of one signal holds for it alone, unchanged', () => {
  expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/` })).toMatchObject({
    metricsUrl: `${endpoint}/v1/metrics`,
    tracesUrl: `${endpoint}/v1/traces`,
    logsUrl: `${endpoint}/v1/logs`,
  });
  expect(
    read({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/in',
      OTEL_TRACES_EXPORTER: 'otlp',
    }),
  ).toMatchObject({ metricsUrl: undefined, tracesUrl: 'https://traces.example.com/in', logsUrl: undefined });
  expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRICS_EXPORTER: 'none' })).toMatchObject({
    metricsUrl: undefined,
    tracesUrl: `${endpoint}/v1/traces`,
  });
});

test('a resource is named by its variables, the service name by its own', () => {
  const resource = (more: Readonly<Record<string, string>>) =>
    read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...more })?.resource;
  expect(resource({})).toEqual({ 'service.name': 'penstock-gateway' });
  expect(resource({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=a, k8s.pod.name = x%2Cy' })).toEqual({
    'service.name': 'a',
    'k8s.pod.name': 'x,y',
  });
  expect(resource({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=a', OTEL_SERVICE_NAME: 'b' })).toEqual({
    'service.name': 'b',
  });
});

describe('the sampler', () => {
  const sampler = (more: Readonly<Record<string, string>>) =>
    read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...more })?.sampler;

  test('is the standard one where none is named', () => {
    expect(sampler({})).toEqual({ followsParent: true, ratio: 1 });
  });

  test.each([
    ['always_on', { followsParent: false, ratio: 1 }],
    ['always_off', { followsParent: false, ratio: 0 }],
    ['traceidratio', { followsParent: false, ratio: 0.01 }],
    ['parentbased_always_on', { followsParent: true, ratio: 1 }],
    ['parentbased_always_off', { followsParent: true, ratio: 0 }],
    ['parentbased_traceidratio', { followsParent: true, ratio: 0.01 }],
  ])('%s', (name, expected) => {
    expect(sampler({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0.01' })).toEqual(expected);
  });
});

describe('an invalid setting is reported by its name and remedy, and never by its value', () => {
  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'must be an http or https address'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be http/protobuf, which collectors accept on port 4318'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'Invalid option'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'Too big'],
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'must be otlp or none'],
    ['OTEL_METRIC_EXPORT_INTERVAL', '0', 'Too small'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'secret-value', 'must be key=value'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=%zz', 'must be key=value'],
  ])('%s=%s', (name, value, words) => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, [name]: value };
    expect(() => read(environment)).toThrow(`${name}: ${words}`);
    if (value.length > 6) expect(() => read(environment)).not.toThrow(value);
  });
});
