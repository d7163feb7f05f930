// A secret source as a gateway has it, and everything it reported, asked and swapped.

import { systemClock } from '../../../core/clock.ts';
import type { KubeClient } from '../../../core/kube/client.ts';
import { openConnection } from '../../../core/kube/connection.ts';
import { TableHolder } from '../../../gateway/table/holder.ts';
import { openSecretSource, type SecretSource } from '../../../gateway/table/sources/secret.ts';
import { TableStatus } from '../../../gateway/table/status.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';

export interface SecretRig {
  readonly source: SecretSource;
  readonly holder: TableHolder;
  readonly status: TableStatus;
  /** `taken <generation> from <source>`, `refused <failure>: <reason>`, `noted: <message>`. */
  readonly reported: readonly string[];
  /** Paths of single objects that were asked for, in order. */
  readonly asked: string[];
  /** Milliseconds of every timer that was set, in order. */
  readonly timers: number[];
  /** Waits until something has been reported that fits, from the `from`th on. */
  next(pattern: RegExp, from?: number): Promise<string>;
  close(): Promise<void>;
}

export interface SecretRigOptions {
  readonly pointer: { readonly namespace: string; readonly name: string };
  readonly copyFolder?: string;
  readonly holder?: TableHolder;
  /** Decides how long it waits before it fetches; default: not at all. */
  readonly random?: () => number;
  /** Waited for before an object is asked for. */
  readonly before?: (name: string) => Promise<void>;
}

/** A client of the admin's that has its own connections. */
export async function openClient(url: string, ca: Buffer | string, token: string): Promise<KubeClient> {
  return openConnection({
    server: url,
    authenticator: {
      credentials: async () => ({ headers: { authorization: `Bearer ${token}` }, tls: { ca } }),
      refused: () => {},
    },
  });
}

export async function openRig(
  plane: Pick<ControlPlane, 'url' | 'adminToken'> & { readonly ca: Buffer | string },
  options: SecretRigOptions,
): Promise<SecretRig> {
  const client = await openClient(plane.url, plane.ca, plane.adminToken);
  const holder = options.holder ?? new TableHolder();
  const status = new TableStatus(systemClock.wallMs);
  const reported: string[] = [];
  const asked: string[] = [];
  const timers: number[] = [];
  const waiting = new Set<() => void>();
  const tell = (event: string): void => {
    reported.push(event);
    for (const look of waiting) look();
  };
  const watched: KubeClient = {
    async call(request) {
      const [, name] = /\/secrets\/([^/]+)$/.exec(request.path) ?? [];
      if (name !== undefined) {
        asked.push(name);
        await options.before?.(name);
      }
      return client.call(request);
    },
    stream: (request) => client.stream(request),
    close: () => client.close(),
  };
  const source = openSecretSource({
    client: watched,
    clock: {
      ...systemClock,
      setTimer(ms, callback) {
        timers.push(ms);
        return systemClock.setTimer(ms, callback);
      },
    },
    random: options.random ?? (() => 0),
    pointer: options.pointer,
    copyFolder: options.copyFolder,
    holder,
    report: {
      taken(generation, taken) {
        status.taken(taken);
        tell(`taken ${generation} from ${taken.source}`);
      },
      refused(reason, refused) {
        status.refused(reason, refused);
        tell(`refused ${refused.failure}: ${reason}`);
      },
      noted: (message) => tell(`noted: ${message}`),
    },
  });
  return {
    source,
    holder,
    status,
    reported,
    asked,
    timers,
    next(pattern, from = 0) {
      return new Promise((resolve) => {
        const look = (): void => {
          const found = reported.slice(from).find((event) => pattern.test(event));
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      });
    },
    async close() {
      await source.close();
      client.close();
    },
  };
}
