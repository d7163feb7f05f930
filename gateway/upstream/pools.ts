// Which connections does a provider have? One pool per provider, and per all that its connections are made with: they are
// opened on behalf of its namespace, so they are never shared with another's, and one that was opened under a former
// certificate, authority or proxy carries no new request.

import { Pool } from 'undici';
import { type AddressRules, parseAddressRules, platformRules } from '../../core/egress/address-rules.ts';
import { createGuardedConnector } from '../../core/egress/connect.ts';
import {
  createLookupLanes,
  type LookupMiss,
  suspectsMaxOf,
  threadsDefault,
} from '../../core/egress/lookup-lanes.ts';
import {
  createLastAnswers,
  type LastAnswers,
  type Resolve,
  resolveBySystem,
} from '../../core/egress/resolve.ts';
import { type ProviderView, revealConnection, type TableView } from '../table/view.ts';
import { makeCountingClient } from './connection-use.ts';
import type { TokenPools } from './credential.ts';

/** Idle connections are closed before common servers close them: a request must not meet a dying one. */
const keepAliveMs = 4_000;
const connectionsMax = 10_000;
const tokenConnectMs = 10_000;

interface OpenPool {
  readonly pool: Pool;
  readonly fingerprint: string;
}

export interface UpstreamPoolsOptions {
  /** Threads of the process for what would block it (UV_THREADPOOL_SIZE); lookups of names take some. */
  readonly threads?: number;
  /** All addresses of a name. Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** A clock that never goes back, in milliseconds, for the age of its answers. */
  readonly nowMs?: () => number;
  /** Called when the lookup of a name is over that gave no answer, or none in time; an earlier answer may serve. */
  onLookupMiss?(how: LookupMiss): void;
}

export class UpstreamPools implements TokenPools {
  private readonly resolve: Resolve;
  private readonly lastAnswers: LastAnswers;
  private readonly pools = new Map<string, OpenPool>();
  /** By origin. Whatever they are asked for is built in or said by the platform, so no table closes them. */
  private readonly platformPools = new Map<string, Pool>();
  /** The pool found last for a provider: most providers have one connect timeout. */
  private latest = new WeakMap<ProviderView, { readonly connectMs: number; readonly pool: Pool }>();
  private rules = parseAddressRules([]);
  private rulesText = '';

  constructor(options: UpstreamPoolsOptions = {}) {
    const { threads = threadsDefault, resolve = resolveBySystem } = options;
    const nowMs = options.nowMs ?? (() => performance.now());
    this.resolve = createLookupLanes({
      resolve,
      suspectsMax: suspectsMaxOf(threads),
      nowMs,
      onMiss: (how) => options.onLookupMiss?.(how),
    });
    this.lastAnswers = createLastAnswers(nowMs);
  }

  /** Takes over the address rules of a new table and closes what it no longer names, once it is idle. */
  adopt(view: TableView): void {
    const { egressAllow, egressDeny } = view.settings;
    const rulesText = JSON.stringify([egressAllow, egressDeny]);
    if (rulesText !== this.rulesText) {
      this.rules = parseAddressRules(egressAllow, egressDeny);
      this.rulesText = rulesText;
    }
    for (const [key, open] of this.pools) {
      const provider = view.providers.get(key.slice(0, key.indexOf(' ')));
      if (provider && open.fingerprint === this.fingerprint(provider)) continue;
      this.pools.delete(key);
      this.latest = new WeakMap();
      closeQuietly(open.pool);
    }
  }

  /** @param isFresh One that keeps no connection: its requests must be sent as `isFresh` too. */
  poolFor(provider: ProviderView, connectMs: number, isFresh = false): Pool {
    const latest = this.latest.get(provider);
    if (!isFresh && latest?.connectMs === connectMs) return latest.pool;
    const pool = this.findPool(provider, connectMs, isFresh);
    if (!isFresh) this.latest.set(provider, { connectMs, pool });
    return pool;
  }

  /** Of its connection only the proxy is used: certificates and authorities of the Provider are for its host alone. */
  tokenPool(provider: ProviderView, origin: string): Pool {
    const key = `${provider.entry.id} token ${origin} ${provider.connectionPrint}`;
    const open = this.pools.get(key);
    if (open) return open.pool;
    const { proxy } = revealConnection(provider);
    return this.openPool(key, provider, origin, tokenConnectMs, proxy ? { proxy } : {});
  }

  platformPool(origin: string): Pool {
    const open = this.platformPools.get(origin);
    if (open) return open;
    const pool = this.makePool(origin, platformRules(), 'platform', tokenConnectMs, {});
    this.platformPools.set(origin, pool);
    return pool;
  }

  private findPool(provider: ProviderView, connectMs: number, isFresh: boolean): Pool {
    // A request that began under an older table may still ask for the provider's former connections: later requests must not get that
    // pool.
    const key = `${provider.entry.id} ${connectMs} ${isFresh ? 'fresh' : 'kept'} ${provider.connectionPrint}`;
    const open = this.pools.get(key);
    if (open) return open.pool;
    const { origin } = new URL(provider.entry.baseUrl);
    return this.openPool(key, provider, origin, connectMs, revealConnection(provider));
  }

  private openPool(
    key: string,
    provider: ProviderView,
    origin: string,
    connectMs: number,
    material: ReturnType<typeof revealConnection>,
  ): Pool {
    const pool = this.makePool(origin, this.rules, provider.namespace, connectMs, material);
    this.pools.set(key, { pool, fingerprint: this.fingerprint(provider) });
    return pool;
  }

  private makePool(
    origin: string,
    rules: AddressRules,
    namespace: string,
    connectMs: number,
    material: ReturnType<typeof revealConnection>,
  ): Pool {
    return new Pool(origin, {
      connect: createGuardedConnector({
        rules,
        namespace,
        connectTimeoutMs: connectMs,
        resolve: this.resolve,
        lastAnswers: this.lastAnswers,
        ...material,
      }),
      factory: makeCountingClient,
      connections: connectionsMax,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // Timers are the attempt's own: these are coarse, and know nothing of content.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 16 * 1024,
    });
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    const open = [...this.pools.values().map(({ pool }) => pool), ...this.platformPools.values()];
    this.pools.clear();
    this.platformPools.clear();
    this.latest = new WeakMap();
    await Promise.all(open.map((pool) => pool.destroy()));
  }

  private fingerprint({ connectionPrint }: ProviderView): string {
    return `${connectionPrint} ${this.rulesText}`;
  }
}

/** Running requests end by themselves first. */
function closeQuietly(pool: Pool): void {
  pool.close().catch(() => {
    // A pool that was destroyed in between is closed, which is all that is needed.
  });
}
