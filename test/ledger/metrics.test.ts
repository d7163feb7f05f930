// What does the ledger export, and does the page about it say the same?

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { usedMetrics } from './used-metrics.ts';

const text = () => usedMetrics().registry.metrics();

test.each([
  'penstock_ledger_records_total 5',
  'penstock_ledger_duplicates_total 4',
  'penstock_ledger_bad_lines_total 3',
  'penstock_ledger_skipped_lines_total 2',
  'penstock_ledger_pull_failures_total 1',
  'penstock_ledger_purged_records_total 6',
  'penstock_ledger_events_sent_total 7',
  'penstock_ledger_events_failures_total 1',
  'penstock_ledger_events_left_out_total 1',
  'penstock_ledger_journals{state="read"} 1',
  'penstock_ledger_journals{state="behind"} 1',
  'penstock_ledger_journals{state="failing"} 1',
  'penstock_ledger_lag_seconds 90',
  'penstock_ledger_leads 1',
  'penstock_ledger_events_untaken_seconds 1200.5',
])('%s', async (line) => {
  expect((await text()).split('\n')).toContain(line);
});

test('docs/metrics.md has a row for every metric of the ledger, with its type and labels, and no other', async () => {
  const page = await readFile(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const section = page.split('\n## Ledger\n')[1]?.split('\n## ')[0] ?? '';
  const documented = [...section.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]+) \| [A-Z][^|]{20,} \|$/gm)];
  const exported = await text();
  const ours = [...exported.matchAll(/^# TYPE (penstock_\w+) (\w+)$/gm)].map(([, name = '', type]) => {
    const series = new RegExp(`^${name}\\{(.*)\\}`, 'm').exec(exported)?.[1] ?? '';
    const labels = [...series.matchAll(/(\w+)="/g)].map(([, label]) => `\`${label}\``);
    return [name, type, labels.join(', ') || 'none'];
  });
  expect(documented.map(([, name, type, labels]) => [name, type, labels]).toSorted()).toEqual(
    ours.toSorted(),
  );
});
