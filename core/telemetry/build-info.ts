// Which release does a process run? One series with the value 1, in every process, as exporters for Prometheus have it.

import type { Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import type { Metric } from './metric.ts';
import { addGauge } from './prometheus.ts';

export const buildInfo = {
  name: 'penstock.build_info',
  type: 'gauge',
  unit: '',
  labels: ['version', 'node_version'],
  help: 'Always 1; the version of Penstock and of Node.js that this process runs.',
  meaning:
    'Always 1. `version` is the version of Penstock, the same as that of the chart in `helm list`; `node_version` the version of Node.js. More than one `version` for long: an upgrade has stopped halfway.',
} as const satisfies Metric;

export function addBuildInfo(registry: Registry): void {
  addGauge(registry, buildInfo, (report) => report(1, packageJson.version, process.versions.node));
}
