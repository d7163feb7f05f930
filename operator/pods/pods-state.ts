// The tables that gateway pods run, from their answers: how many run a generation, which pods lag, and why.

import type { ExchangeResponse } from '../../core/contract/exchange.ts';
import { cutText } from '../cut-text.ts';
import type { GatewayPod } from '../watch/gateway-pods.ts';

/** The state of one pod. A pod without a response or a failure has not answered yet, and has no entry. */
export interface PodAnswer {
  /** The last one that was understood. */
  readonly response?: ExchangeResponse;
  /** Why the last call gave none; absent after one that did. */
  readonly failure?: string;
  /** Unix milliseconds of the last answer or failure. */
  readonly atMs: number;
}

/** By uid of the pod. */
export type PodAnswers = ReadonlyMap<string, PodAnswer>;

export interface PodsState {
  /** Pods that are ready. */
  readonly ready: number;
  /** False: there may be further pods that the watch has not reported. */
  readonly areKnown: boolean;
  /**
   * The generation that every ready pod runs at least; undefined without pods, where one runs no table, and while it is not known
   * which ones are ready.
   */
  readonly generationOfAll: number | undefined;
  /** Each ready pod, by name. */
  readonly pods: readonly PodState[];
}

interface PodState {
  readonly name: string;
  /** The table generation it runs, as far as is known. */
  readonly generation: number | undefined;
  /** The newest table format that it reads; undefined while it has not said. */
  readonly maxFormat: number | undefined;
  /** What keeps it from a newer one, in words; empty where nothing is known. */
  readonly trouble: string;
  /** Why it refused a table that is newer than the one it runs. */
  readonly rejected?: string;
}

interface Progress {
  readonly running: number;
  readonly ready: number;
  /** Pods that do not run it yet, each with the reason: "pod x runs table generation 481: …". */
  readonly lagging: readonly string[];
}

const troubleCharsMax = 300;

/**
 * Only pods of the list count: an answer of another one is of no matter.
 *
 * @param epochFloor Tables of a lower epoch are of another history, and count as none.
 * @param areKnown False where the list may be behind.
 */
export function podsState(
  pods: readonly GatewayPod[],
  answers: PodAnswers,
  epochFloor = 0,
  areKnown = true,
): PodsState {
  const states = pods
    .map(({ uid, name }) => stateOf(name, answers.get(uid), epochFloor))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  let generationOfAll: number | undefined;
  for (const [index, { generation }] of states.entries()) {
    if (generation === undefined) {
      generationOfAll = undefined;
      break;
    }
    generationOfAll = index === 0 ? generation : Math.min(generationOfAll ?? generation, generation);
  }
  return {
    ready: states.length,
    areKnown,
    generationOfAll: areKnown ? generationOfAll : undefined,
    pods: states,
  };
}

/** True where there is a pod, they are known, and every one runs at least this generation. */
export function allRun({ generationOfAll }: PodsState, generation: number): boolean {
  return generationOfAll !== undefined && generationOfAll >= generation;
}

export function progressOf({ pods, ready }: PodsState, generation: number): Progress {
  const lagging = pods.filter((pod) => pod.generation === undefined || pod.generation < generation);
  return { running: ready - lagging.length, ready, lagging: lagging.map(describe) };
}

// In one history the generation alone orders tables: the pointer is written by compare-and-swap, so each write counts it
// up, whichever leader it comes from.
function stateOf(name: string, answer: PodAnswer | undefined, epochFloor: number): PodState {
  if (answer === undefined)
    return { name, generation: undefined, maxFormat: undefined, trouble: 'it has not reported yet' };
  const { response, failure } = answer;
  const reasons = [
    ...(failure === undefined ? [] : [failure]),
    ...(response?.rejected === undefined ? [] : [response.rejected.reason]),
  ];
  return {
    name,
    generation: (response?.table?.epoch ?? 0) < epochFloor ? undefined : response?.table?.generation,
    maxFormat: response?.formats.max,
    trouble: cutText(reasons.join('; '), troubleCharsMax),
    ...(response?.rejected === undefined
      ? {}
      : { rejected: cutText(response.rejected.reason, troubleCharsMax) }),
  };
}

function describe({ name, generation, trouble }: PodState): string {
  const runs = generation === undefined ? 'runs no table' : `runs table generation ${generation}`;
  return `pod ${name} ${runs}${trouble === '' ? '' : `: ${trouble}`}`;
}
