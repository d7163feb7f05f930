// What does this pod report to the operator? The table in use, the last refused table, the health of its upstreams, the
// results of credential exchanges, and the outcomes of its drills. And when is there news to report?

import { hash } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type {
  DrillOutcome,
  ExchangeRequest,
  ExchangeResponse,
  UpstreamHealth,
} from '../../core/contract/exchange.ts';
import { READER_FORMAT } from '../../core/contract/routing-table.ts';
import type { Drills } from '../drill/drills.ts';
import type { Health } from '../route/health.ts';
import type { TableState, TableStatus } from '../table/status.ts';
import type { Credentials } from '../upstream/credentials.ts';

interface PodStateParts {
  readonly clock: Clock;
  readonly table: TableStatus;
  readonly health: Health;
  readonly drills: Pick<Drills, 'order' | 'outcomes' | 'onEnd'>;
  /** Absent: none is exchanged. */
  readonly credentials?: Pick<Credentials, 'revision' | 'report'>;
}

/** Upstreams come and go many times a second; an operator wants to know it once. */
const healthEveryMs = 1_000;

/** The clock of a machine may be corrected after its first pods have started. */
const offMaxMs = 1_000;

export class PodState {
  private readonly parts: PodStateParts;
  /** What turns the clock's time into Unix milliseconds; kept while it is nearly right, so that a time said twice is the same. */
  private unixOffsetMs: number;
  private health: readonly UpstreamHealth[] = [];
  private targets: ExchangeResponse['targets'];
  private misconfigured: ExchangeResponse['misconfigured'];
  private credentials: ExchangeResponse['credentials'];
  private credentialsRevision = 0;
  private healthRevision = -1;
  private healthReadAtMs = Number.NEGATIVE_INFINITY;
  private said:
    | {
        readonly of: TableState;
        readonly health: object;
        readonly drills: readonly DrillOutcome[];
        readonly credentials: ExchangeResponse['credentials'];
        readonly answer: ExchangeResponse;
      }
    | undefined;

  constructor(parts: PodStateParts) {
    this.parts = parts;
    this.unixOffsetMs = unixOffset(parts.clock);
  }

  read(): ExchangeResponse {
    this.readHealth();
    const { health, credentials } = this;
    const of = this.parts.table.state();
    const drills = this.parts.drills.outcomes();
    const { said } = this;
    const isSame = said?.of === of && said.health === health && said.drills === drills;
    if (isSame && said.credentials === credentials) return said.answer;
    const misconfigured = this.misconfigured ? { misconfigured: this.misconfigured } : {};
    const targets = this.targets ? { targets: this.targets } : {};
    const content = {
      ...of,
      formats: { min: 1, max: READER_FORMAT },
      health: [...health],
      ...targets,
      ...misconfigured,
      ...(credentials ? { credentials } : {}),
      drills: [...drills],
    };
    const answer = { state: hash('sha256', JSON.stringify(content), 'hex').slice(0, 32), ...content };
    this.said = { of, health, drills, credentials, answer };
    return answer;
  }

  /**
   * Begins the ordered drills. Answers as soon as the state differs from the last seen one, or when the wait is
   * over or given up.
   */
  poll({ seen, waitMs, drills = [] }: ExchangeRequest, givenUp: AbortSignal): Promise<ExchangeResponse> {
    const { clock, table } = this.parts;
    this.parts.drills.order(drills);
    const isNew = (): boolean => this.read().state !== seen;
    if (waitMs === 0 || givenUp.aborted || isNew()) return Promise.resolve(this.read());
    return new Promise((resolve) => {
      const finish = (): void => {
        cancelEnd();
        cancelLook();
        stopListening();
        stopHearing();
        givenUp.removeEventListener('abort', finish);
        resolve(this.read());
      };
      const look = (): void => {
        if (isNew()) finish();
      };
      const lookNow = (): void => {
        cancelLook = clock.setTimer(healthEveryMs, lookNow);
        look();
      };
      const cancelEnd = clock.setTimer(waitMs, finish);
      let cancelLook = clock.setTimer(healthEveryMs, lookNow);
      const stopListening = table.onChange(look);
      const stopHearing = this.parts.drills.onEnd(look);
      givenUp.addEventListener('abort', finish);
    });
  }

  private readHealth(): void {
    const nowMs = this.parts.clock.now();
    if (nowMs - this.healthReadAtMs < healthEveryMs) return;
    this.healthReadAtMs = nowMs;
    this.readCredentials();
    const revision = this.parts.health.revision(nowMs);
    if (revision === this.healthRevision) return;
    this.healthRevision = revision;
    const offsetMs = unixOffset(this.parts.clock);
    if (Math.abs(offsetMs - this.unixOffsetMs) > offMaxMs) this.unixOffsetMs = offsetMs;
    this.health = this.parts.health.report(nowMs, this.unixOffsetMs);
    const targets = this.parts.health.targetCalls(nowMs, this.unixOffsetMs);
    this.targets = targets.length === 0 ? undefined : [...targets];
    const misconfigured = this.parts.health.misconfiguredTargets();
    this.misconfigured = misconfigured.length === 0 ? undefined : [...misconfigured];
  }

  private readCredentials(): void {
    const { credentials } = this.parts;
    if (!credentials || credentials.revision === this.credentialsRevision) return;
    this.credentialsRevision = credentials.revision;
    const report = credentials.report();
    this.credentials = report.length === 0 ? undefined : [...report];
  }
}

function unixOffset(clock: Clock): number {
  return clock.wallMs() - clock.now();
}
