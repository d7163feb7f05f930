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
    help: '1 for the current mode of limits: local (a share per pod) or store (shared by all pods).',
    meaning:
      '1 for the current mode of limits: `store` (the Valkey or Redis that all pods share) or `local` (a share per pod). Alert when `local` lasts although a store is configured.',
  },
  limited: {
    name: 'penstock.limited',
    type: 'counter',
    unit: '',
    labels: ['subject', 'limit'],
    help: 'Requests rejected and attempts skipped because a limit was reached, by subject and limit.',
    meaning: `Requests rejected because a \`limit\` (${limitNames}) of their \`api_key\`, \`tenant\` (its namespace) or \`model_route\` was reached or a \`budget\` was used up or reserved, and attempts skipped because a limit of the \`provider\` or \`provider_key\` was reached.`,
  },
  limitsHeld: {
    name: 'penstock.limits_held',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Reservations of requests and attempts in flight, in this pod or in the store.',
    meaning: 'Reservations at limits, of requests and attempts in flight. 0 while idle.',
  },
  budgetSumsAge: {
    name: 'penstock.budget_sums_age',
    type: 'gauge',
    unit: 's',
    labels: [],
    help: 'Age of the ledger sums that budgets are checked against; absent before the first budget.',
    meaning:
      'Age of the ledger sums that budgets are checked against, or the time without any. Absent before the first budget. The pod asks for sums every second; during a ledger outage it goes on with its share of the rest.',
  },
  limitsStore: {
    name: 'penstock.limits_store',
    type: 'histogram',
    unit: 's',
    labels: [],
    // A call has 25 ms.
    bounds: [0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032],
    help: 'Duration of successful calls to the limit store.',
    meaning: 'Duration of successful calls to the limit store.',
  },
  limitsStoreFailures: {
    name: 'penstock.limits_store_failures',
    type: 'counter',
    unit: '',
    labels: ['reason'],
    help: 'Failed calls to the limit store, by reason (timeout, error).',
    meaning:
      'Failed calls to the limit store: `timeout` (no answer within 25 ms) or `error`. Requests go on, unless the chart value is `Deny`.',
  },
} satisfies MetricTable;
