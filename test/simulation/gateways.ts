// What does a gateway pod do, from its start to its end? The real table loader and the real exchange, with a disk of its own and a
// kubelet that says, a little late, whether it is ready.

import { zstdDecompressSync } from 'node:zlib';
import { type ExchangeResponse, exchangeRequestSchema } from '../../core/contract/exchange.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import { Drills } from '../../gateway/drill/drills.ts';
import { PodState } from '../../gateway/exchange/pod-state.ts';
import { Health } from '../../gateway/route/health.ts';
import { TableHolder } from '../../gateway/table/holder.ts';
import { openSecretSource, type SecretSource } from '../../gateway/table/sources/secret.ts';
import type { CopyFiles, LoadWork } from '../../gateway/table/sources/work.ts';
import { TableStatus } from '../../gateway/table/status.ts';
import type { TableView } from '../../gateway/table/view.ts';
import type { AskPod } from '../../operator/pods/exchange.ts';
import type { ApiServer } from './api-client.ts';
import { objectPathOf } from './api-client.ts';
import { withPieces } from './pieces.ts';
import type { Random } from './random.ts';
import { GATEWAY_LABELS, PODS, POINTER, SYSTEM_NAMESPACE } from './settings.ts';
import type { Process, World } from './world.ts';

/** One life of a process; after a restart there is another one. */
export interface GatewayLife {
  readonly pod: string;
  readonly process: Process;
  /** The table that requests see, as it was reported at each swap. */
  view: TableView | undefined;
  readonly status: TableStatus;
  readonly startedMs: number;
  /** The pointer as the watch reported of it last: base64 of the manifest. */
  heard: string | undefined;
}

export interface Gateways {
  /** Those that run now. */
  lives(): readonly GatewayLife[];
  /** Kills the process; the container comes back, with its disk, or the pod is replaced by a new one. */
  restart(index: number, isReplaced: boolean): void;
  freeze(index: number, ms: number): void;
  readonly askPod: (caller: Process) => AskPod;
  /** Is this pod ready, as the API server says it? */
  isReady(pod: string): boolean;
  /** Unix ms of the last news from the API server, in this pod. */
  reportedMs(pod: string): number;
}

export interface GatewaysOptions {
  readonly world: World;
  readonly server: ApiServer;
  readonly random: Random;
  readonly count: number;
  onSwap(life: GatewayLife, view: TableView): void;
  /** Of the holder of each life; a broken one shows whether it would be noticed. */
  makeHolder?(): TableHolder;
  changeClient?(client: KubeClient): KubeClient;
}

interface Pod {
  readonly name: string;
  readonly ip: string;
  readonly disk: Map<string, Buffer>;
  isReady: boolean;
}

const containerPort = 9091;

export function startGateways(options: GatewaysOptions): Gateways {
  const { world, server, random, count } = options;
  const running: (Gateway | undefined)[] = Array.from({ length: count }, () => undefined);
  const reportedMs = new Map<string, number>();
  let lives: readonly GatewayLife[] = [];
  let pods = 0;
  const unpack = makeUnpack();
  for (let index = 0; index < count; index += 1) start(index, makePod());

  return {
    lives: () => lives,
    restart(index, isReplaced) {
      const gateway = running[index];
      if (gateway === undefined) return;
      const { life, pod } = gateway;
      world.note(`${pod.name} dies${isReplaced ? ' and is replaced' : ''}`);
      life.process.kill();
      gateway.end();
      setRunning(index, undefined);
      if (isReplaced) server.store.remove('kubelet', pathOfPod(pod.name), undefined);
      else tellLater(pod, false, random.between(0, 1_500));
      world.after(random.between(200, 4_000), () => start(index, isReplaced ? makePod() : pod));
    },
    freeze(index, ms) {
      const gateway = running[index];
      if (gateway === undefined) return;
      world.note(`${gateway.pod.name} is frozen for ${ms} ms`);
      gateway.life.process.freeze(ms);
    },
    reportedMs: (pod) => reportedMs.get(pod) ?? 0,
    isReady: (pod) => {
      const status = server.store.find(pathOfPod(pod))?.value.status;
      return JSON.stringify(status)?.includes('"status":"True"') ?? false;
    },
    askPod: (caller) => (pod, token, body, timeoutMs) => {
      const { promise, resolve, reject } = Promise.withResolvers<ExchangeResponse>();
      const givenUp = new AbortController();
      const fail = (message: string): void => {
        cancelTimer();
        givenUp.abort();
        reject(new Error(message));
      };
      const back = (end: () => void): void => void caller.after(random.between(1, 20), end);
      const cancelTimer = caller.after(timeoutMs, () => fail('it did not answer in time'));
      world.after(random.between(1, 20), () => {
        const gateway = running.find((one) => one?.pod.ip === pod.ip);
        if (gateway === undefined) {
          back(() => fail('it does not answer (ECONNREFUSED)'));
          return;
        }
        gateway.breaks.add(() => back(() => fail('it broke off (ECONNRESET)')));
        gateway.life.process.after(0, () => {
          if (gateway.source.exchangeToken() !== token) {
            back(() => fail('it rejects the exchange token'));
            return;
          }
          const request = exchangeRequestSchema.parse(JSON.parse(body));
          void gateway.state.poll(request, givenUp.signal).then((response) =>
            back(() => {
              cancelTimer();
              resolve(response);
            }),
          );
        });
      });
      return { answer: promise, abort: () => fail('the call was ended') };
    },
  };

  function makePod(): Pod {
    pods += 1;
    const pod = {
      name: `gateway-${pods}`,
      ip: `10.0.0.${pods}`,
      disk: new Map<string, Buffer>(),
      isReady: false,
    };
    const { name, ip } = pod;
    server.store.create(
      'kubelet',
      { resource: PODS, namespace: SYSTEM_NAMESPACE, name: undefined },
      {
        metadata: { name, namespace: SYSTEM_NAMESPACE, labels: GATEWAY_LABELS },
        spec: { containers: [{ ports: [{ name: 'internal', containerPort }] }] },
        status: { podIP: ip, conditions: [{ type: 'Ready', status: 'False' }] },
      },
    );
    return pod;
  }

  /** What the kubelet learns last is what it says. */
  function tellLater(pod: Pod, isReady: boolean, ms: number): void {
    pod.isReady = isReady;
    world.after(ms, () => tellReady(pod, pod.isReady));
  }

  function tellReady({ name, ip }: Pod, isReady: boolean): void {
    reportedMs.set(name, world.nowMs());
    const path = pathOfPod(name);
    const before = server.store.find(path);
    if (before === undefined) return;
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
    server.store.replace('kubelet', path, { ...before.value, status: { podIP: ip, conditions } });
  }

  function start(index: number, pod: Pod): void {
    const skewMs = random.chance(0.1) ? random.between(-600_000, 600_000) : 0;
    const process = world.startProcess(pod.name, skewMs);
    setRunning(index, startGateway(process, pod));
  }

  function setRunning(index: number, gateway: Gateway | undefined): void {
    running[index] = gateway;
    lives = running.flatMap((one) => one?.life ?? []);
  }

  function startGateway(process: Process, pod: Pod): Gateway {
    const holder = options.makeHolder?.() ?? new TableHolder();
    const status = new TableStatus(process.clock.wallMs);
    const drills = new Drills(async ({ id }) => ({ id, isPassed: true, message: 'played' }));
    const state = new PodState({ clock: process.clock, table: status, health: new Health(() => 0), drills });
    const life: GatewayLife = {
      pod: pod.name,
      process,
      view: undefined,
      status,
      startedMs: world.nowMs(),
      heard: undefined,
    };
    const draws = random.fork();
    const client = noticing(server.connect(process), life);
    world.note(`${pod.name} starts`);
    let isToldReady = false;
    holder.onSwap((view) => {
      life.view = view;
      options.onSwap(life, view);
      if (isToldReady) return;
      isToldReady = true;
      tellLater(pod, true, random.between(50, 1_500));
    });
    const breaks = new Set<() => void>();
    const source = openSecretSource({
      client: options.changeClient?.(client) ?? client,
      clock: process.clock,
      random: draws.next,
      pointer: POINTER,
      copyFolder: '/copy',
      holder,
      work: { yieldNow: async () => {}, unpack, files: makeFiles(process, pod.disk) },
      report: {
        taken(generation, taken) {
          status.taken(taken);
          world.note(`${pod.name} runs ${taken.version.epoch}/${generation} from ${taken.source}`);
        },
        refused(reason, refused) {
          status.refused(reason, refused);
          world.note(`${pod.name} refuses a table: ${reason}`);
        },
        noted: (message) => world.note(`${pod.name}: ${message}`),
      },
    });
    return {
      life,
      pod,
      source,
      state,
      breaks,
      end() {
        for (const end of breaks) end();
      },
    };
  }
}

interface Gateway {
  readonly life: GatewayLife;
  readonly pod: Pod;
  readonly source: SecretSource;
  readonly state: PodState;
  /** Calls that break where the process dies. */
  readonly breaks: Set<() => void>;
  end(): void;
}

function pathOfPod(name: string): string {
  return objectPathOf(PODS, SYSTEM_NAMESPACE, name);
}

/** Takes down what the process hears of the pointer; the process itself knows nothing of it. */
function noticing(client: KubeClient, life: GatewayLife): KubeClient {
  const hear = (text: string): void => {
    const [, manifest] = /"manifest":"([^"]*)"/.exec(text) ?? [];
    if (manifest !== undefined && text.includes(`"name":"${POINTER.name}"`)) life.heard = manifest;
  };
  return {
    ...client,
    async call(request) {
      const answer = await client.call(request);
      if (request.path.endsWith('/secrets')) hear(JSON.stringify(answer));
      return answer;
    },
    stream: withPieces(client, (piece) => {
      hear(piece.toString());
      return piece;
    }),
  };
}

/** Everything at once; and the same only once, for all of them. */
function makeUnpack(): LoadWork['unpack'] {
  const unpacked = new Map<string, Buffer>();
  return async (packed, { maxOutputLength }) => {
    const text = packed.toString('latin1');
    const plain = unpacked.get(text) ?? zstdDecompressSync(packed, { maxOutputLength });
    unpacked.set(text, plain);
    return plain;
  };
}

/** A disk that takes nothing more from a process that is dead. */
function makeFiles(process: Process, disk: Map<string, Buffer>): CopyFiles {
  const missing = (): Error => Object.assign(new Error('no such file'), { code: 'ENOENT' });
  const alive = async (): Promise<void> => {
    // A file takes its time, in which a process can die.
    await new Promise<void>((resolve) => void process.after(1, resolve));
  };
  return {
    async readFile(path) {
      await alive();
      const content = disk.get(path);
      if (content === undefined) throw missing();
      return content;
    },
    async writeFile(path, content) {
      await alive();
      disk.set(path, Buffer.from(content));
    },
    chmod: async () => {},
    async rename(from, to) {
      await alive();
      const content = disk.get(from);
      if (content === undefined) throw missing();
      disk.delete(from);
      disk.set(to, content);
    },
    mkdir: async () => {},
    readdir: async (folder) =>
      [...disk.keys()]
        .filter((path) => path.startsWith(`${folder}/`))
        .map((path) => path.slice(folder.length + 1)),
    async rm(path) {
      disk.delete(path);
    },
  };
}
