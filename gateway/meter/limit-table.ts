// What does a gateway measure of limits, and of the store of all pods? Rows of the table in metric-table.ts.

import { LIMITS, limitMembers } from '../../core/catalog/limits.ts';
import type { MetricTable } from '../../core/telemetry/metric.ts';

const limitNames = limitMembers.map((member) => `\`${LIMITS[member].name}\``).join(', ');

export const limitMetrics = {
  limitsMode: {
    name: 'penstock.limits_mode',
    type: 'gauge',
    unit: '',
    labels: ['mode'],
    help: 'How limits are kept: 1 for local (each pod its share) or for store (all pods together).',
    meaning:
      'How limits are kept now: 1 for `store` (in the Valkey or Redis that all pods share) or for `local` (each pod its share). Alert where `local` lasts although a store is set.',
  },
  limited: {
    name: 'penstock.limited',
    type: 'counter',
    unit: '',
    labels: ['subject', 'limit'],
    help: 'Requests refused, and attempts passed over, because a limit was reached, by whose and which limit it is.',
    meaning: `Requests refused because a \`limit\` (${limitNames}) of their \`api_key\`, \`tenant\` (its namespace) or \`model_route\` was reached, or a \`budget\` was spent or set aside, and attempts passed over because one of the \`provider\` or \`provider_key\` was.`,
  },
  limitsHeld: {
    name: 'penstock.limits_held',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Reservations of requests and attempts under way, at the limits of this pod or of the store.',
    meaning:
      'Reservations at limits: of requests and attempts under way. It falls to 0 when nothing is under way.',
  },
  budgetSumsAge: {
    name: 'penstock.budget_sums_age',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'How old the sums of the ledger are that budgets are judged by, from the first table with a budget on; no value before.',
    meaning:
      'How old the sums of the ledger are that budgets are judged by, once a table had a budget; where none are known yet, for how long they have been missing. They are asked for every second; while the ledger is away each pod goes on with its share of what was left.',
  },
  limitsStore: {
    name: 'penstock.limits_store',
    type: 'histogram',
    unit: 's',
    labels: [],
    // A call has 25 ms.
    bounds: [0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032],
    help: 'Calls to the store of limits that were answered in time.',
    meaning: 'Calls to the store of limits that were answered in time.',
  },
  limitsStoreFailures: {
    name: 'penstock.limits_store_failures',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Calls to the store of limits that failed, or were not answered within 25 ms, by reason.',
    meaning:
      'Calls to the store of limits that failed: `timeout` (not answered within 25 ms) or `error`. No request fails by it, unless the chart says `Deny`.',
  },
} satisfies MetricTable;
