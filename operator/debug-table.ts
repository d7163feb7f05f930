// Which table does each gateway pod run, and what keeps it from the next one? A report for troubleshooting, as data and as text for a
// terminal, with names, numbers and reasons and without secrets.

import type { ExchangeResponse, UpstreamHealth } from '../core/contract/exchange.ts';
import type { PodAnswers } from './pods/pods-state.ts';
import type { GatewayPod } from './watch/gateway-pods.ts';

interface DebugFacts {
  /** Name of this replica. */
  readonly replica: string;
  /** Name of the replica that holds the lease; undefined without a leader, or before the lease was read. */
  readonly leader: string | undefined;
  /** Facts that only the leader has. */
  readonly leading?: {
    readonly tableGeneration: number;
    readonly pods: readonly GatewayPod[];
    readonly answers: PodAnswers;
  };
}

export interface DebugTable {
  readonly replica: string;
  readonly leader: string | null;
  readonly isLeader: boolean;
  /** Only the leader asks the pods; it alone has what follows. */
  readonly tableGeneration?: number;
  readonly pods?: readonly DebugPod[];
}

interface DebugPod {
  readonly name: string;
  /** Epoch of the table that the pod runs; null without a table, or without an answer. */
  readonly epoch: number | null;
  readonly generation: number | null;
  /** How many generations it is behind. */
  readonly lag: number | null;
  /** RFC 3339: when its table came into use. */
  readonly since: string | null;
  readonly source: string | null;
  readonly rejected?: NonNullable<ExchangeResponse['rejected']>;
  readonly formats: ExchangeResponse['formats'] | null;
  /** Breakers that are open, and keys that rest. */
  readonly troubles: readonly UpstreamHealth[];
  /** RFC 3339: last answer or failure; null where it was not heard yet. */
  readonly heardAt: string | null;
  /** Why the last call failed; the other fields are from an earlier call. */
  readonly failure?: string;
}

export function buildDebugTable({ replica, leader, leading }: DebugFacts): DebugTable {
  const head = { replica, leader: leader ?? null, isLeader: leading !== undefined };
  if (leading === undefined) return head;
  const { tableGeneration, pods, answers } = leading;
  return {
    ...head,
    tableGeneration,
    pods: pods
      .map((pod) => describePod(pod, answers, tableGeneration))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function describePod({ uid, name }: GatewayPod, answers: PodAnswers, tableGeneration: number): DebugPod {
  const answer = answers.get(uid);
  const { table, rejected, formats, health = [] } = answer?.response ?? {};
  return {
    name,
    epoch: table?.epoch ?? null,
    generation: table?.generation ?? null,
    lag: table === undefined ? null : Math.max(0, tableGeneration - table.generation),
    since: table === undefined ? null : new Date(table.sinceMs).toISOString(),
    source: table?.source ?? null,
    ...(rejected === undefined ? {} : { rejected }),
    formats: formats ?? null,
    troubles: health.filter(({ state }) => state !== 'working'),
    heardAt: answer === undefined ? null : new Date(answer.atMs).toISOString(),
    ...(answer?.failure === undefined ? {} : { failure: answer.failure }),
  };
}

export function renderDebugTable({ replica, leader, tableGeneration, pods }: DebugTable): string {
  if (pods === undefined) {
    const who = leader === null ? 'no leader is known' : `${leader} leads; ask that replica`;
    return `${replica} does not lead: ${who}\n`;
  }
  const rows = [
    ['POD', 'GENERATION', 'LAG', 'SINCE', 'SOURCE', 'FORMATS', 'HEARD', 'TROUBLES'],
    ...pods.map((pod) => [
      pod.name,
      pod.generation,
      pod.lag,
      pod.since,
      pod.source,
      pod.formats === null ? null : `${pod.formats.min}-${pod.formats.max}`,
      pod.heardAt,
      pod.troubles.length,
    ]),
  ].map((row) => row.map((cell) => String(cell ?? '-')));
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const remarks = pods.flatMap((pod) => remarksOn(pod).map((remark) => `${pod.name}: ${remark}`));
  const head = `table generation ${tableGeneration}, by ${replica}, which leads`;
  return `${[head, '', ...lines, ...(remarks.length === 0 ? [] : ['', ...remarks])].join('\n')}\n`;
}

function remarksOn({ rejected, failure, troubles }: DebugPod): string[] {
  return [
    ...(failure === undefined ? [] : [failure]),
    ...(rejected === undefined
      ? []
      : [`refused table generation ${rejected.generation ?? 'unknown'}: ${rejected.reason}`]),
    ...troubles.map(({ provider, key, upstreamModel, state, untilMs }) => {
      const where = [
        `Provider ${provider}`,
        ...(upstreamModel === undefined ? [] : [`model ${upstreamModel}`]),
        ...(key === undefined ? [] : [`key ${key}`]),
      ];
      const until = untilMs === undefined ? '' : ` until ${new Date(untilMs).toISOString()}`;
      return `${where.join(', ')}: ${state}${until}`;
    }),
  ];
}
