// What does the dashboard measure? One row for each metric.

import type { MetricTable } from '../core/telemetry/metric.ts';

export const dashboardMetrics = {
  requests: {
    name: 'penstock.dashboard.requests',
    type: 'counter',
    unit: '',
    labels: ['route', 'status'],
    help: 'Requests of browsers that have ended, by route and class of their status.',
    meaning:
      'Requests of browsers, counted when they end. `route` is the address as the code has it, such as `/api/kube/*`, or `pages` for the page and its files; `status` is `2xx` to `5xx`, or `gone` where the browser left before there was an answer. `5xx` below `/api`: Kubernetes or the ledger does not answer. Alert where that is half of them.',
  },
  requestDuration: {
    name: 'penstock.dashboard.request_duration',
    type: 'histogram',
    unit: 's',
    labels: ['route'],
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    help: 'From the arrival of a request to the end of its answer; without streams of updates.',
    meaning:
      'From the arrival of a request to the end of its answer. Without streams of updates, which last as long as a page is open.',
  },
  signIns: {
    name: 'penstock.dashboard.sign_ins',
    type: 'counter',
    unit: '',
    labels: ['way', 'outcome'],
    help: 'Attempts to sign in, by way and outcome.',
    meaning:
      'Attempts to sign in. `way` is `token` or `oidc`; `outcome` is `admitted`, `refused` (Kubernetes or the issuer does not know them), `limited` (too many attempts) or `failed` (Kubernetes or the issuer does not answer). Alert on `failed`, and on many `limited`: somebody guesses.',
  },
  signOuts: {
    name: 'penstock.dashboard.sign_outs',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Sessions that people have ended.',
    meaning:
      'Sessions that people have ended themselves. Of those whose time is over nobody is told: they are in cookies alone.',
  },
  streams: {
    name: 'penstock.dashboard.streams',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Streams of updates that are open; each is a watch at the API server.',
    meaning:
      'Streams of updates that are open, some for each page; each is a watch at the API server. A pod takes 2,000. Alert near that.',
  },
} as const satisfies MetricTable;
