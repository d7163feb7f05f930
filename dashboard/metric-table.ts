// What does the dashboard measure? One row for each metric.

import { buildInfo } from '../core/telemetry/build-info.ts';
import type { MetricTable } from '../core/telemetry/metric.ts';

export const dashboardMetrics = {
  requests: {
    name: 'penstock.dashboard.requests',
    type: 'counter',
    unit: '',
    labels: ['route', 'status'],
    help: 'Browser requests, by route and status class.',
    meaning:
      'Browser requests, counted when they end. `route` is the route pattern, such as `/api/kube/*`, or `pages` for the page and its files. `status` is `2xx` to `5xx`, or `gone` where the browser disconnected first. `5xx` below `/api` means that Kubernetes or the ledger does not answer: alert at half of the requests.',
  },
  requestDuration: {
    name: 'penstock.dashboard.request_duration',
    type: 'histogram',
    unit: 's',
    labels: ['route'],
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    help: 'Duration of browser requests, without update streams.',
    meaning:
      'Duration of browser requests. Update streams are left out: they last as long as a page is open.',
  },
  signIns: {
    name: 'penstock.dashboard.sign_ins',
    type: 'counter',
    unit: '',
    labels: ['way', 'outcome'],
    help: 'Sign-ins, by way and outcome.',
    meaning:
      'Sign-ins. `way` is `token` or `oidc`; `outcome` is `admitted`, `refused` (rejected by Kubernetes or the issuer), `limited` (too many attempts) or `failed` (Kubernetes or the issuer does not answer). Alert on `failed`, and on many `limited`: a sign of guessing.',
  },
  signOuts: {
    name: 'penstock.dashboard.sign_outs',
    type: 'counter',
    unit: '',
    labels: [],
    help: 'Sign-outs.',
    meaning: 'Sign-outs by users. Expired sessions are not counted: sessions exist only in cookies.',
  },
  streams: {
    name: 'penstock.dashboard.streams',
    type: 'gauge',
    unit: '',
    labels: [],
    help: 'Open update streams; each is a watch at the API server.',
    meaning:
      'Open update streams, several per page; each is a watch at the API server. The limit per pod is 2,000. Alert near the limit.',
  },
  buildInfo,
} as const satisfies MetricTable;
