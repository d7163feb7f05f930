// Is a packed chart the chart? Helm reads the archive, and renders the same from it as from the folder.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { packChart } from '../../../tools/pack/chart.ts';
import { CHART, CRDS_CHART, mustHelm, template } from '../../charts/helm.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';

const plane = useControlPlane({ hasControllers: false });
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-chart-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test.each([
  ['penstock', CHART],
  ['penstock-crds', CRDS_CHART],
])(
  'the archive of %s renders as the folder does, and has the version of package.json',
  async (name, chart) => {
    const archive = join(folder, `${name}.tgz`);
    await writeFile(archive, await packChart(chart));
    const shown = await mustHelm(plane(), ['show', 'chart', archive]);
    expect(shown).toMatch(new RegExp(`^version: ${packageJson.version}$`, 'm'));
    const rendered = await template(plane(), {}, { chart: archive });
    expect(rendered.code).toBe(0);
    expect(rendered.stdout).toBe((await template(plane(), {}, { chart })).stdout);
  },
);

test('the same files give the same archive', async () => {
  expect(Buffer.from(await packChart(CHART)).equals(await packChart(CHART))).toBe(true);
});
