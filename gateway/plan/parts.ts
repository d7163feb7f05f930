// What is a plan made with? The parts that requests are served with, as far as they decide where one goes.

import type { Limiter } from '../limits/limiter.ts';
import type { Asking, PipelineParts, Routing } from '../pipeline/parts.ts';

export interface PlanParts extends Pick<PipelineParts, 'clock' | 'random' | 'health' | 'holder'> {
  readonly limits: Pick<Limiter, 'glance'>;
  /** What this gateway is called. */
  readonly pod: string;
}

/** A routed request of a plan. */
export type Planned = Asking & Routing;
