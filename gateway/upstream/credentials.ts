// Which credential signs in each request, and which of them must be exchanged? Every credential that a table names is exchanged when the
// table comes, and kept: a request finds it ready, and the operator learns whether it works.

import type { Clock } from '../../core/clock.ts';
import type { CredentialState } from '../../core/contract/exchange.ts';
import type { KeyedEndpoint, ProviderView, TableView } from '../table/view.ts';
import { CallerCredentials } from './caller-credentials.ts';
import type {
  CallerSessions,
  Credential,
  CredentialMeans,
  CredentialPerCaller,
  ExchangeCredential,
  JudgeRefusal,
  TokenPools,
} from './credential.ts';
import type { IdentityEnvironment } from './identity/environment.ts';
import { HostClocks } from './identity/host-clocks.ts';
import { RenewedCredential } from './renewed-credential.ts';
import { type SeatRows, seatsOf } from './seats.ts';

interface Parts {
  readonly clock: Clock;
  readonly pools: TokenPools;
  readonly environment: IdentityEnvironment;
  readonly seats: SeatRows | undefined;
}

interface Kept {
  readonly provider: string;
  readonly key: string | undefined;
  readonly credential: RenewedCredential;
  /** What requests get. */
  readonly given: Credential | CredentialPerCaller;
  /** As it was reported last. */
  said: string;
}

/** Exchanges at once that no request waits for. */
const lanesMax = 8;
/** In one report: those that failed first. */
const reportLinesMax = 1_000;

export class Credentials implements CredentialMeans {
  readonly pools: TokenPools;
  readonly environment: IdentityEnvironment;
  readonly clocks = new HostClocks();
  readonly nowMs = (): number => this.parts.clock.wallMs();
  private readonly parts: Parts;
  /** Kept as long as the table view they belong to. */
  private readonly byEndpoint = new WeakMap<KeyedEndpoint, Credential | CredentialPerCaller>();
  private kept = new Map<string, Kept>();
  private lanes = 0;
  private changes = 0;
  private cancelWake = (): void => {};

  constructor(parts: Parts) {
    this.parts = parts;
    this.pools = parts.pools;
    this.environment = parts.environment;
  }

  of(provider: ProviderView, endpoint: KeyedEndpoint): Credential | CredentialPerCaller {
    const known = this.byEndpoint.get(endpoint);
    if (known) return known;
    const credential = seatsOf(this.parts.seats, provider).credentialFor(provider, endpoint, this);
    this.byEndpoint.set(endpoint, credential);
    return credential;
  }

  renewed(
    provider: ProviderView,
    endpoint: KeyedEndpoint,
    exchange: ExchangeCredential,
    judge?: JudgeRefusal,
    sessions?: CallerSessions,
  ): Credential | CredentialPerCaller {
    const id = idOf(provider, endpoint);
    const known = this.kept.get(id);
    if (known) return known.given;
    const credential = new RenewedCredential(
      () =>
        exchange().finally(() => {
          // After what came of it is known.
          setImmediate(() => this.settle(kept));
        }),
      this.nowMs,
      judge,
    );
    const open = (of: ExchangeCredential) => new RenewedCredential(of, this.nowMs, judge);
    const renewAhead = (session: RenewedCredential): void => {
      // Else a later call of its caller begins it.
      if (this.lanes < lanesMax) this.begin(session);
    };
    const { nowMs } = this;
    const given = sessions
      ? new CallerCredentials({ own: credential, sessions, open, renewAhead, nowMs })
      : credential;
    const kept: Kept = { provider: provider.entry.id, key: endpoint.key?.name, credential, given, said: '' };
    this.kept.set(id, kept);
    return given;
  }

  /** Begins the exchanges that a new table needs, and forgets those that it does not name. */
  adopt(view: TableView): void {
    const named = new Set<string>();
    for (const provider of view.providers.values()) {
      // The others take keys as they are, and there may be many.
      if (!this.parts.seats?.has(provider.entry.type)) continue;
      for (const endpoint of provider.endpoints) {
        this.of(provider, endpoint);
        named.add(idOf(provider, endpoint));
      }
    }
    for (const id of this.kept.keys()) if (!named.has(id) && this.kept.delete(id)) this.changes += 1;
    this.plan();
  }

  /** Another number after each change of what is reported. */
  get revision(): number {
    return this.changes;
  }

  report(): readonly CredentialState[] {
    const lines = [...this.kept.values()].flatMap(({ provider, key, credential: { state } }) =>
      state ? [{ provider, ...(key === undefined ? {} : { key }), ...state }] : [],
    );
    const order = { failed: 0, valid: 1 };
    return lines.sort((a, b) => order[a.state] - order[b.state]).slice(0, reportLinesMax);
  }

  close(): void {
    this.kept.clear();
    this.cancelWake();
  }

  private settle(kept: Kept): void {
    const said = JSON.stringify(kept.credential.state);
    if (said !== kept.said) this.changes += 1;
    kept.said = said;
    this.plan();
  }

  /** Begins what is due, and wakes up for what is due next. */
  private plan(): void {
    this.cancelWake();
    const now = this.nowMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { credential } of this.kept.values()) {
      const dueMs = credential.renewAtMs;
      if (dueMs > now) nextMs = Math.min(nextMs, dueMs);
      else if (this.lanes < lanesMax) this.begin(credential);
    }
    if (nextMs < Number.POSITIVE_INFINITY) {
      this.cancelWake = this.parts.clock.setTimer(nextMs - now, () => this.plan());
    }
  }

  private begin(credential: RenewedCredential): void {
    this.lanes += 1;
    credential
      .renew()
      .catch(() => {
        // It is in the report, and a request that needs it asks again.
      })
      .finally(() => {
        this.lanes -= 1;
        this.plan();
      });
  }
}

/** `healthId` names address, key and version; what else decides an exchange is in the settings. */
function idOf({ entry }: ProviderView, { healthId }: KeyedEndpoint): string {
  return `${entry.type} ${healthId} ${JSON.stringify(entry.settings ?? {})}`;
}
