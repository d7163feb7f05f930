// A gateway that has no table yet, and so no plan for anybody: what a server of the exchange is started with where that is not the question.

import { systemClock } from '../../../core/clock.ts';
import { nothingLimited } from '../../../gateway/limits/glance.ts';
import type { PlanParts } from '../../../gateway/plan/parts.ts';
import { Health } from '../../../gateway/route/health.ts';

export const noPlan: PlanParts = {
  clock: systemClock,
  random: () => 0,
  health: new Health(() => 0),
  holder: { current: () => undefined },
  limits: { glance: async () => nothingLimited },
  pod: 'gateway',
};
