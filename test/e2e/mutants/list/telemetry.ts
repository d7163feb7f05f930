// Which safeguards of what leaves by OTLP are noticed when they are gone?

import type { Mutant } from '../../../mutants/mutant.ts';

export const telemetry: readonly Mutant[] = [
  {
    name: 'a name that a caller gives its request is in logs only where it is harmless',
    file: 'gateway/request/request-id.ts',
    from: '.find((id) => wellFormed.test(id))',
    to: '.at(0)',
    tests: ['test/security/hardening.test.ts'],
  },
  {
    name: 'what waits for a collector is bounded as it is set',
    file: 'core/telemetry/open.ts',
    from: 'maxQueueSize: settings.queue.itemsMax,',
    to: '',
    tests: ['test/core/telemetry/open.test.ts'],
  },
  {
    name: 'what is dropped is counted',
    file: 'core/telemetry/open.ts',
    from: "if (reason !== undefined) onDropped(reason === 'queue_full' ? 'full' : 'failed', items);",
    to: '',
    tests: ['test/core/telemetry/open.test.ts'],
  },
  {
    name: 'a collector that does not answer is given up in the time that is set',
    file: 'core/telemetry/open.ts',
    from: 'return { url, timeoutMillis,',
    to: 'return { url,',
    tests: ['test/core/telemetry/open.test.ts'],
  },
  {
    name: 'nothing is left global',
    file: 'core/telemetry/open.ts',
    from: 'for (const global of [context, trace, metrics, logs]) global.disable();',
    to: '',
    tests: ['test/core/telemetry/open.test.ts'],
  },
  {
    name: 'no process says of itself what it was started with',
    file: 'core/telemetry/open.ts',
    from: 'autoDetectResources: false,',
    to: '',
    tests: ['test/core/telemetry/otlp.test.ts'],
  },
  {
    name: 'telemetry leaves the process no longer than it is given',
    file: 'core/telemetry/open.ts',
    from: 'await Promise.race([sdk.shutdown().catch(() => {}), over.promise]);',
    to: 'await sdk.shutdown().catch(() => {});',
    tests: ['test/core/telemetry/open.test.ts'],
  },
  {
    name: 'what each payer is charged first is growth of a series',
    file: 'gateway/meter/request-metrics.ts',
    from: "for (const payer of ['tenant', 'platform'])",
    to: "for (const payer of ['tenant'])",
    tests: ['test/gateway/meter/metrics.test.ts'],
  },
  {
    name: 'attempts that used no tokens do not make requests look small',
    file: 'gateway/meter/gen-ai-metrics.ts',
    from: 'if (usage.input + usage.output === 0) return;',
    to: '',
    tests: ['test/gateway/meter/metrics.test.ts'],
  },
  {
    name: 'two parents count as no parent',
    file: 'core/telemetry/trace-context.ts',
    from: "values.join(',')",
    to: 'values[0]',
    tests: ['test/core/telemetry/trace-context.test.ts'],
  },
  {
    name: 'unknown flags are not passed on',
    file: 'core/telemetry/trace-context.ts',
    from: 'traceFlags: parent.traceFlags & TraceFlags.SAMPLED',
    to: 'traceFlags: parent.traceFlags',
    tests: ['test/core/telemetry/trace-context.test.ts'],
  },
];
