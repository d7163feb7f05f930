// Which safeguards does somebody notice who switches them off? One row for each; a safeguard without a row is one that a careless
// change may take away unseen.

import type { Mutant } from '../../mutants/mutant.ts';
import { answers } from './list/answers.ts';
import { credentials } from './list/credentials.ts';
import { dashboard } from './list/dashboard.ts';
import { delivery } from './list/delivery.ts';
import { door } from './list/door.ts';
import { drills } from './list/drills.ts';
import { egress } from './list/egress.ts';
import { failover } from './list/failover.ts';
import { journal } from './list/journal.ts';
import { ledger } from './list/ledger.ts';
import { limits } from './list/limits.ts';
import { localMode } from './list/local-mode.ts';
import { plan } from './list/plan.ts';
import { streams } from './list/streams.ts';
import { table } from './list/table.ts';
import { telemetry } from './list/telemetry.ts';

export const mutants: readonly Mutant[] = [
  ...egress,
  ...credentials,
  ...delivery,
  ...streams,
  ...answers,
  ...failover,
  ...drills,
  ...door,
  ...table,
  ...journal,
  ...ledger,
  ...plan,
  ...limits,
  ...localMode,
  ...telemetry,
  ...dashboard,
];
