// What becomes of what is to be sent where the collector takes it, refuses it, is slow or gone? With the SDK and a socket that are real.

import { createServer, type Server } from 'node:http';
import { TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openTelemetry, type Telemetry } from '../../../core/telemetry/open.ts';
import { readTelemetrySettings } from '../../../core/telemetry/settings.ts';
import { readTraceContext } from '../../../core/telemetry/trace-context.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';

/** Something that OTLP is sent to: it takes all, refuses all, or never says a word. */
class Receiver {
  answer: 'takes' | 'refuses' | 'is silent' = 'takes';
  /** Of each export its path and body. Names stand in there as they are. */
  readonly exports: { readonly path: string; readonly text: string }[] = [];
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece) => pieces.push(piece));
      request.once('end', () => {
        this.exports.push({ path: request.url ?? '', text: Buffer.concat(pieces).toString('latin1') });
        if (this.answer !== 'is silent') response.writeHead(this.answer === 'takes' ? 200 : 400).end();
      });
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const address = this.server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  }

  /** Numbers of what was sent under names such as `item-7.`, export by export. */
  items(): number[][] {
    return this.exports.map(({ text }) =>
      [...text.matchAll(/item-(\d+)\./g)].map(([, item]) => Number(item)),
    );
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

let receiver: Receiver;
let url: string;
let close: (() => Promise<void>)[] = [];

beforeEach(async () => {
  receiver = new Receiver();
  url = await receiver.open();
});

afterEach(async () => {
  receiver.close();
  for (const one of close) await one();
  close = [];
});

function start(environment: Readonly<Record<string, string>> = {}) {
  const settings = readTelemetrySettings(
    // Nothing goes by itself: only full batches, and what is left at the end.
    { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '600000', ...environment },
    'penstock-gateway',
  );
  if (!settings) throw new Error('no endpoint');
  const clock = makeFakeClock();
  const dropped: Record<string, number> = {};
  const refusals: Record<string, (string | undefined)[]> = {};
  const telemetry = openTelemetry(settings, {
    clock: { ...clock, wallMs: Date.now },
    registry: new Registry(),
    table: {},
    version: '1',
    hasEvents: true,
    onDropped(signal, reason, items) {
      const key = `${signal} ${reason}`;
      dropped[key] = (dropped[key] ?? 0) + items;
    },
    onExported(signal, refusal) {
      refusals[signal] = [...(refusals[signal] ?? []), refusal];
    },
  });
  close.push(async () => {
    const closed = telemetry.close(1);
    clock.advance(1);
    await closed;
  });
  return { telemetry, clock, dropped, refusals };
}

const from = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

const signals = [
  ['spans', 'traces', ({ tracer }: Telemetry, item: number) => tracer?.startSpan(`item-${item}.`).end()],
  ['events', 'logs', ({ logger }: Telemetry, item: number) => logger?.emit({ eventName: `item-${item}.` })],
] as const;

describe.each(signals)('%s', (_, signal, add) => {
  const only = {
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_TRACES_EXPORTER: signal === 'traces' ? 'otlp' : 'none',
    OTEL_LOGS_EXPORTER: signal === 'logs' ? 'otlp' : 'none',
  };

  test('are sent in batches, in order, and the rest at the end', async () => {
    const { telemetry, dropped, refusals } = start({ ...only, OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '3' });
    for (const item of from(0, 7)) add(telemetry, item);
    await telemetry.close(60_000);
    expect(receiver.exports.map(({ path }) => path)).toEqual([1, 2, 3].map(() => `/v1/${signal}`));
    expect(receiver.items().toSorted(([a = 0], [b = 0]) => a - b)).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
    expect([dropped, refusals[signal]]).toEqual([{}, [undefined, undefined, undefined]]);
  });

  test('beyond the limit are dropped, the newest first, and counted', async () => {
    const { telemetry, dropped } = start({ ...only, OTEL_BSP_MAX_QUEUE_SIZE: '8' });
    receiver.answer = 'is silent';
    // The first eight are a batch, and in progress; eight more wait.
    for (const item of from(0, 1_000)) {
      add(telemetry, item);
      if (item === 7) await until(async () => receiver.exports.length === 1);
    }
    expect(dropped).toEqual({ [`${signal} full`]: 984 });
    expect(receiver.items()).toEqual([from(0, 8)]);
  });

  test('that are refused are counted, with the reason in a word', async () => {
    const { telemetry, dropped, refusals } = start(only);
    receiver.answer = 'refuses';
    for (const item of from(0, 5)) add(telemetry, item);
    await telemetry.close(60_000);
    expect([dropped, refusals]).toEqual([{ [`${signal} failed`]: 5 }, { [signal]: ['HTTP 400'] }]);
  });

  // The times that hold where none is set are ten seconds and more.
  test('without an answer in time are given up, and the next are sent', { timeout: 8_000 }, async () => {
    const { telemetry, dropped } = start({
      ...only,
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    });
    receiver.answer = 'is silent';
    for (const item of from(0, 8)) add(telemetry, item);
    await until(async () => dropped[`${signal} failed`] === 8);
    expect(receiver.items()).toEqual([from(0, 4), from(4, 4)]);
  });

  test('delay the end no longer than configured', { timeout: 8_000 }, async () => {
    const { telemetry, clock } = start(only);
    receiver.answer = 'is silent';
    add(telemetry, 1);
    const closed = telemetry.close(2_000);
    await until(async () => receiver.exports.length === 1);
    expect(clock.pending()).toEqual([2_000]);
    clock.advance(2_000);
    await closed;
  });
});

test('are sent only for signals with an address', async () => {
  const { telemetry } = start({
    OTEL_EXPORTER_OTLP_ENDPOINT: '',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${url}/metrics-alone`,
  });
  expect([telemetry.tracer, telemetry.logger]).toEqual([undefined, undefined]);
  await telemetry.close(60_000);
  expect(receiver.exports.map(({ path }) => path)).toEqual(['/metrics-alone']);
});

test('of two pipelines in one process are sent separately, and nothing global is left of either', async () => {
  const other = new Receiver();
  const otherUrl = await other.open();
  try {
    const one = start();
    const two = start({ OTEL_EXPORTER_OTLP_ENDPOINT: otherUrl });
    signals[0][2](one.telemetry, 1);
    signals[0][2](two.telemetry, 2);
    expect(trace.getTracer('of a library').startSpan('lost').isRecording()).toBe(false);
    await Promise.all([one.telemetry.close(60_000), two.telemetry.close(60_000)]);
    expect([receiver.items().flat(), other.items().flat()]).toEqual([[1], [2]]);
  } finally {
    other.close();
  }
});

describe('is a request traced?', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const isTraced = (tracer: Tracer | undefined, flags: '00' | '01' | undefined): boolean | undefined => {
    const headers = flags === undefined ? [] : ['traceparent', `00-${traceId}-00f067aa0ba902b7-${flags}`];
    const span = tracer?.startSpan('request', {}, readTraceContext(headers));
    const { traceFlags = 0 } = span?.spanContext() ?? {};
    expect((traceFlags & TraceFlags.SAMPLED) !== 0).toBe(span?.isRecording());
    return span?.isRecording();
  };

  // By itself; of a caller that records its trace; of one that does not.
  test.each([
    ['always_on', [true, true, true]],
    ['always_off', [false, false, false]],
    ['traceidratio', [false, false, false]],
    ['parentbased_always_on', [true, true, false]],
    ['parentbased_always_off', [false, true, false]],
    ['parentbased_traceidratio', [false, true, false]],
  ] as const)('%s, with a ratio of 0', (name, expected) => {
    const { tracer } = start({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0' }).telemetry;
    expect(([undefined, '01', '00'] as const).map((flags) => isTraced(tracer, flags))).toEqual(expected);
  });
});
