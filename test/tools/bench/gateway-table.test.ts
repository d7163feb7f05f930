// The table that the gateway is measured with: it must stay one that the gateway reads.

import { describe, expect, test } from 'vitest';
import { scenarios } from '../../../tools/bench/scenarios.ts';
import { benchTable } from '../../../tools/bench/targets/gateway.ts';

describe('the table that the gateway is measured with', () => {
  test('is one that the gateway accepts, with a route for every scripted model', () => {
    const models = scenarios.map((scenario) => scenario.model);
    const table = benchTable(9100, [...new Set(models)]);
    const served = new Map(table.routes.map(({ id, model }) => [id.slice('bench/'.length), model]));
    expect(models.filter((model) => !served.get(model)?.startsWith('penstock/'))).toEqual([]);
    expect(new Set(table.keys.map((key) => key.sha256)).size).toBe(table.keys.length);
  });
});
