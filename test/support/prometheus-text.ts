// What does Prometheus read in a text of metrics? Its own client library for Python says, which shares nothing with the one that wrote it.

import { z } from 'zod';
import { run } from '../cluster/run.ts';
import { pythonWith } from './python.ts';

const families = z.array(
  z.object({
    name: z.string(),
    type: z.string(),
    help: z.string(),
    samples: z.array(
      z.object({ name: z.string(), labels: z.record(z.string(), z.string()), value: z.string() }),
    ),
  }),
);
export type ReadFamily = z.infer<typeof families>[number];

const script = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families
print(json.dumps([{
  "name": family.name, "type": family.type, "help": family.documentation,
  "samples": [{"name": one.name, "labels": one.labels, "value": str(one.value)} for one in family.samples],
} for family in text_string_to_metric_families(sys.stdin.read())]))
`;

/** A counter's family has its name without `_total`, its samples have it. */
export async function readPrometheusText(text: string): Promise<readonly ReadFamily[]> {
  const python = await pythonWith(['prometheus-client==0.23.1']);
  const said = await run(python, ['-I', '-c', script], { stdin: text });
  if (said.code !== 0) throw new Error(`Prometheus' parser refuses this text: ${said.lastLine}`);
  return families.parse(JSON.parse(said.stdout));
}
