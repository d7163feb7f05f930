// Which parts of a gateway look at a new table, and which only at one whose routes differ?

import { expect, test } from 'vitest';
import { adoptTables } from '../../../gateway/process/adopt-tables.ts';
import { TableHolder } from '../../../gateway/table/holder.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { tableOf } from '../rig.ts';

test('health and metrics adopt a table once if only its keys change', () => {
  const adopted: string[] = [];
  const view = buildTableView(tableOf([{ baseUrl: 'https://api.upstream.test/v1' }]));
  const holder = new TableHolder();
  adoptTables(holder, {
    pools: { adopt: ({ generation }) => adopted.push(`pools ${generation}`) },
    credentials: { adopt: ({ generation }) => adopted.push(`credentials ${generation}`) },
    limiter: { expectBudgets: () => {} },
    health: { adopt: (table) => adopted.push(`health ${'generation' in table && table.generation}`) },
    metrics: { adopt: (table) => adopted.push(`metrics ${'generation' in table && table.generation}`) },
  });
  holder.offer({ ...view, generation: 1 });
  holder.offer({ ...view, generation: 2, keys: new Map() });
  holder.offer({ ...view, generation: 3, routes: [...view.routes] });
  expect(adopted).toEqual([
    ...['pools 1', 'credentials 1', 'health 1', 'metrics 1'],
    ...['pools 2', 'credentials 2'],
    ...['pools 3', 'credentials 3', 'health 3', 'metrics 3'],
  ]);
});
