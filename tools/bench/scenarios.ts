// Which loads are compared? Data only; the mock reads the answer to give from the model name.

import type { DialectName } from '../../core/contract/routing-table.ts';
import type { TargetName } from './targets/target.ts';

/** Dialects of the load client; the mock speaks only chat completions. */
export type ClientDialect = Exclude<DialectName, 'openai-completions'>;

export type LoadScenario = {
  kind: 'load';
  name: string;
  title: string;
  /** The upstream's model name: the mock's script. */
  model: string;
  bodyBytes: number;
  connections: number;
  /** Requests a second in open loop; absent: closed loop, as fast as answers come. */
  ratePerSecond?: number;
  /** Events of one stream; absent: one JSON answer. */
  events?: number;
  /** Absent: chat completions, as the mock speaks them. Others are for streams only. */
  dialect?: ClientDialect;
  /** The only ones that can serve it, or are worth the time; absent: all. */
  targets?: readonly TargetName[];
  /** The same load without translation, at the same target: the baseline for the cost of this one. */
  passThrough?: string;
  /** The mock sets the pace: throughput tells nothing, and what an event waited tells more than a whole answer. */
  isPaced?: true;
  /** Spreads the first requests, where requests live long enough to march in step otherwise. */
  rampMs?: number;
  /** What CPU time is divided by. */
  unit: 'request' | 'response' | 'event';
  /** Scenarios of one warm-up run the same code; it is done once for them, at full load, by the first of the list. */
  warmUp: 'unary' | 'body' | 'burst' | 'paced' | 'messages' | 'responses';
};

export type HoldScenario = {
  kind: 'hold';
  name: string;
  title: string;
  model: string;
  bodyBytes: number;
  streams: number;
};

export type Scenario = LoadScenario | HoldScenario;

export const scenarios: readonly Scenario[] = [
  {
    kind: 'load',
    name: 'unary-1k',
    title: 'Unary, 1 KB in and out, saturated (32 connections)',
    model: 'unary',
    bodyBytes: 1024,
    connections: 32,
    unit: 'request',
    warmUp: 'unary',
  },
  {
    kind: 'load',
    name: 'unary-1k-limits',
    title: 'Unary, 1 KB in and out, saturated (32 connections), with limits of model and provider',
    model: 'unary-limited',
    bodyBytes: 1024,
    connections: 32,
    targets: ['gateway'],
    unit: 'request',
    warmUp: 'unary',
  },
  {
    kind: 'load',
    name: 'unary-200',
    title: 'Unary, 1 KB in and out, 200 requests/s (open loop)',
    model: 'unary',
    bodyBytes: 1024,
    connections: 16,
    ratePerSecond: 200,
    unit: 'request',
    warmUp: 'unary',
  },
  {
    kind: 'load',
    name: 'body-256k',
    title: 'Unary, 256 KB in, 1 KB out, saturated (8 connections)',
    model: 'unary',
    bodyBytes: 256 * 1024,
    connections: 8,
    unit: 'request',
    warmUp: 'body',
  },
  {
    kind: 'load',
    name: 'sse-burst',
    title: 'SSE, 20 events at once, saturated (16 connections)',
    model: 'burst-20',
    bodyBytes: 1024,
    connections: 16,
    events: 20,
    unit: 'response',
    warmUp: 'burst',
  },
  {
    kind: 'load',
    name: 'sse-burst-100',
    title: 'SSE, 100 events at once, passed through (16 connections)',
    model: 'burst-100',
    bodyBytes: 1024,
    connections: 16,
    events: 100,
    targets: ['gateway'],
    unit: 'event',
    warmUp: 'burst',
  },
  {
    kind: 'load',
    name: 'sse-burst-messages',
    title: 'SSE, 100 events at once, translated for Anthropic messages (16 connections)',
    model: 'burst-100',
    bodyBytes: 1024,
    connections: 16,
    events: 100,
    dialect: 'anthropic-messages',
    targets: ['gateway'],
    passThrough: 'sse-burst-100',
    unit: 'event',
    warmUp: 'messages',
  },
  {
    kind: 'load',
    name: 'sse-burst-responses',
    title: 'SSE, 100 events at once, translated for OpenAI responses (16 connections)',
    model: 'burst-100',
    bodyBytes: 1024,
    connections: 16,
    events: 100,
    dialect: 'openai-responses',
    targets: ['gateway'],
    passThrough: 'sse-burst-100',
    unit: 'event',
    warmUp: 'responses',
  },
  {
    kind: 'load',
    name: 'sse-paced',
    title: 'SSE, 100 events 10 ms apart, 100 open streams',
    model: 'paced-100x10',
    bodyBytes: 1024,
    connections: 100,
    events: 100,
    // A stream lasts 1,000 ms. 1,010 ms spread both the starts over a stream's life and the streams over the 10 ms gap;
    // with 1,000 ms every stream would send in the same instant.
    rampMs: 1010,
    isPaced: true,
    unit: 'event',
    warmUp: 'paced',
  },
  {
    kind: 'load',
    name: 'sse-paced-messages',
    title: 'SSE, 100 events 10 ms apart, 100 open streams, translated for Anthropic messages',
    model: 'paced-100x10',
    bodyBytes: 1024,
    connections: 100,
    events: 100,
    dialect: 'anthropic-messages',
    targets: ['gateway'],
    passThrough: 'sse-paced',
    rampMs: 1010,
    isPaced: true,
    unit: 'event',
    warmUp: 'messages',
  },
  {
    kind: 'hold',
    name: 'hold-waiting',
    title: 'Memory: 1,000 streams waiting for their first token',
    model: 'wait',
    bodyBytes: 1024,
    streams: 1000,
  },
  {
    kind: 'hold',
    name: 'hold-flowing',
    title: 'Memory: 500 streams of 10 events/s',
    model: 'paced-3000x100',
    bodyBytes: 1024,
    streams: 500,
  },
];

/** Whether this target can take this load. */
export function isServedBy(scenario: Scenario, target: TargetName): boolean {
  return scenario.kind === 'hold' || scenario.targets === undefined || scenario.targets.includes(target);
}
