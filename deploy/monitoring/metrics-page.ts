// docs/metrics.md, made from the tables of all processes.

import { exposed, type Metric, type MetricTable } from '../../core/telemetry/metric.ts';
import { dashboardMetrics } from '../../dashboard/metric-table.ts';
import { gatewayMetrics } from '../../gateway/meter/metric-table.ts';
import { ledgerMetrics } from '../../ledger/metric-table.ts';
import { operatorMetrics } from '../../operator/metric-table.ts';

const head = `# Metrics

Every process exports its metrics in the Prometheus text format under \`/metrics\`, on a separate port, and pushes
the same ones over OTLP where [an endpoint is set](guides/observe.md). Names and labels are those of the pull side. Over OTLP they have dots where the
conventions do, counters have no \`_total\`, and the unit is a separate field: importers from OTLP to Prometheus convert them to these names.

Labels hold only names from the configuration and fixed words. Nothing a caller sends becomes a label, so the number
of series is bounded by the number of routes, targets and providers. Figures by key and by tenant are in the ledger.
`;

const gatewayFoot = `Histograms of requests and tables have the buckets that the OpenTelemetry conventions for generative AI advise for durations: 0.01 s, then
doubled up to 163.84 s.

Figures of the Node.js process have names that begin with \`process_\` and \`nodejs_\`: CPU, memory, open files, event loop
delay and garbage collection.
`;

const genAiHead = `### OpenTelemetry conventions for generative AI

The same requests and attempts again, under the names of the
[OpenTelemetry conventions](https://github.com/open-telemetry/semantic-conventions-genai): dashboards made for those need none of ours. The
conventions have no release yet; the metrics follow their state of September 2026. \`gen_ai_operation_name\` is \`chat\` or \`text_completion\`;
\`gen_ai_provider_name\` is the kind of provider (\`openai\`, \`anthropic\`, \`azure.ai.openai\`, \`aws.bedrock\`, \`mistral_ai\`, \`openrouter\`, \`ollama\`, \`openai_compatible\`), and \`penstock\` where the
gateway itself is the server; \`gen_ai_request_model\` is the model as it is called there: the upstream's own of an attempt, the id of
the route of a request. Left out are a record for each chunk, which would cost more than it tells, and the model that an upstream says it used, which is
no name of the configuration.
`;

const operatorHead = `Where [controller-runtime](https://book.kubebuilder.io/reference/metrics-reference) has a name for a metric, that name is used, so that existing dashboards and alerts for
operators work. The label for a queue is \`name\` in metrics of the queue, and \`controller\` in metrics of its runs.
`;

const operatorFoot = `controller-runtime and client-go have a few more, for what does not exist here: every run that failed is tried again (so none is terminal), a
run has no time limit but those of its calls, a failed call is repeated only with its run, and a
lease is always read before it is renewed.

Figures of the Node.js process have names that begin with \`process_\` and \`nodejs_\`.

### Which pod runs what

\`GET /debug/table\` on the same port: for every ready gateway pod the table generation it runs, how far it is behind, since when, where it has it
from, what it refused and why, the formats it reads, its open breakers and keys in cooldown. Data as JSON, or with \`?format=text\` as a table. Only
the leader knows; the others say who leads.

\`\`\`sh
kubectl port-forward -n penstock-system deployment/penstock-operator 9090 &
curl --retry 10 --retry-connrefused 'localhost:9090/debug/table?format=text'
\`\`\`
`;

const ledgerFoot = `Figures of the Node.js process are served too.
`;

const dashboardHead = `They say how many do what, and never who: no name of a person, a namespace or an object is among the labels.
`;

const dashboardFoot = `Figures of the Node.js process are served too. In [local mode](guides/quickstart.md) the dashboard has no such port.
`;

export function metricsPage(): string {
  const isGenAi = ({ name }: Metric) => name.startsWith('gen_ai.');
  const gateway = rowsOf(gatewayMetrics);
  return [
    head,
    '## Gateway\n',
    tableOf(gateway.filter((metric) => !isGenAi(metric))),
    gatewayFoot,
    genAiHead,
    tableOf(gateway.filter(isGenAi)),
    '## Operator\n',
    operatorHead,
    tableOf(rowsOf(operatorMetrics)),
    operatorFoot,
    '## Ledger\n',
    tableOf(rowsOf(ledgerMetrics)),
    ledgerFoot,
    '## Dashboard\n',
    dashboardHead,
    tableOf(rowsOf(dashboardMetrics)),
    dashboardFoot,
  ].join('\n');
}

function rowsOf(table: MetricTable): readonly Metric[] {
  return Object.values(table);
}

function tableOf(metrics: readonly Metric[]): string {
  const rows = metrics.map((metric) => {
    const { name, labels } = exposed(metric);
    const shown = labels.map((label) => `\`${label}\``).join(', ') || 'none';
    const only = metric.setting === undefined ? '' : ` Only where \`${metric.setting}\` is \`true\`.`;
    return `| \`${name}\` | ${metric.type} | ${shown} | ${metric.meaning}${only} |`;
  });
  return `${['| Metric | Type | Labels | Meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')}\n`;
}
