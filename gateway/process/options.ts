// What is a gateway started with?

import type { Clock } from '../../core/clock.ts';
import type { TelemetrySettings } from '../../core/telemetry/settings.ts';
import type { DoorBounds } from '../admission/bounds.ts';
import type { LoadMeter } from '../admission/load-meter.ts';
import type { SenderPatience } from '../endpoints/door.ts';
import type { AskSpend } from '../limits/ledger-reader.ts';
import type { Journal, ReadableJournal } from '../meter/journal.ts';
import type { OperationEndpoint } from '../operations/operation.ts';
import type { UnusableAnswer } from '../pipeline/log-cause.ts';
import type { PipelineDefaults, PipelineParts } from '../pipeline/parts.ts';
import type { TableHolder } from '../table/holder.ts';
import type { TableStatus } from '../table/status.ts';
import type { IdentityEnvironment } from '../upstream/identity/environment.ts';
import type { UpstreamPoolsOptions } from '../upstream/pools.ts';
import type { SeatRows } from '../upstream/seats.ts';
import type { LimitSettings } from './settings.ts';

export interface GatewayOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Folder of the certificate that callers see, looked at again and again; plain HTTP where left out. */
  readonly tlsFolder?: string | undefined;
  /** A renewed certificate is in use, or, with a reason, cannot be. */
  onCertificate?(unusable?: string): void;
  readonly metricsPort: number;
  readonly holder: TableHolder;
  readonly journal: Journal;
  readonly showProvider: boolean;
  /** Origins of pages that may call from a browser, such as `https://penstock.example.com`; none if left out. */
  readonly allowedOrigins?: readonly string[];
  readonly drainAcceptMs: number;
  readonly drainGraceMs: number;
  onFailure(error: unknown, requestId: string, clientRequestId?: string): void;
  /** An unusable answer of an upstream; once a minute for each cause at each upstream model. */
  readonly onUnusable?: (answer: UnusableAnswer) => void;
  /** Kept up to date by the source of tables; absent: a new one. */
  readonly tableStatus?: TableStatus;
  /** Unix milliseconds of the operator's newest heartbeat; undefined if none is known. */
  operatorSeenMs?(): number | undefined;
  /** How names of upstreams are looked up; by the system where left out. */
  readonly lookups?: Omit<UpstreamPoolsOptions, 'onLookupMiss'>;
  /** What the platform says about the identity of this process; absent: it has none. */
  readonly identity?: IdentityEnvironment | undefined;
  /** The exchange with operator and ledger; absent: none. */
  readonly exchange?: ExchangeOptions;
  /** How limits are kept; each pod its share where left out. */
  readonly limits?: Partial<LimitSettings>;
  /** Asks the ledger that reads the journal what was spent; where left out, budgets hold for what passes here. */
  readonly askSpend?: AskSpend | undefined;
  /** Called once when the ledger cannot be reached, with the error; without an error: it answers again. */
  onLedger?(isHeard: boolean, error?: unknown): void;
  /** The store of limits is in use from now on, or no longer. */
  onLimitStore?(isInUse: boolean, why: string): void;
  /** Where metrics, traces and events are sent; nowhere, and nothing of it is loaded, where left out. */
  readonly telemetry?: TelemetrySettings | undefined;
  /** Whether every ledger record is sent as an event too; needs `telemetry`. */
  readonly hasUsageEvents?: boolean;
  /** Tokens also in the histogram that the conventions had before. */
  readonly hasLegacyTokens?: boolean;
  /** Called when exports begin to fail, and when they work again. */
  onTelemetry?(message: string): void;
  /** For tests; the gateway's own where left out. */
  readonly seats?: SeatRows;
  readonly endpoints?: readonly OperationEndpoint[];
  /** In place of what requests count, for measuring what that costs. */
  readonly requestMetrics?: PipelineParts['metrics'];
  /** Limits on load; missing members are derived from the process's memory. */
  readonly bounds?: Partial<DoorBounds>;
  /** For tests; the system's where left out. */
  readonly clock?: Clock;
  readonly loadMeter?: LoadMeter;
  readonly random?: () => number;
  readonly timeouts?: Partial<PipelineDefaults['timeouts']>;
  readonly patience?: SenderPatience;
  /** How long the tokens of an attempt may be counted here, if its upstream reported none. */
  readonly countPatienceMs?: number;
  readonly keepAliveMs?: number;
  readonly openAfterMs?: number;
}

interface ExchangeOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly journal: ReadableJournal;
  /** The bearer; undefined while it is not known. */
  token(): string | undefined;
  /** Where the same is answered over TLS, once there is a certificate; nowhere where left out. */
  readonly tlsPort?: number | undefined;
  /** False: plain HTTP is for this machine alone, and the gateway is ready only with a certificate. */
  readonly hasPlain?: boolean;
}

/** Where neither a route nor a Provider says otherwise. */
export const defaultTimeouts: PipelineDefaults['timeouts'] = {
  connectMs: 3_000,
  firstEventMs: 12_000,
  lastFirstEventMs: 60_000,
  livenessMs: 30_000,
  progressMs: 120_000,
  totalMs: 600_000,
  clientWriteMs: 60_000,
};

export function pipelineDefaults(options: GatewayOptions): PipelineDefaults {
  return {
    timeouts: { ...defaultTimeouts, ...options.timeouts },
    openAfterMs: options.openAfterMs ?? 25_000,
    keepAliveMs: options.keepAliveMs ?? 15_000,
    callsAtOnce: 8,
    showProvider: options.showProvider,
  };
}
