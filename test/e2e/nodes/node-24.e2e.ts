// Do operator, gateways and simulator do their work on Node 24, in an image packed of it? The project itself runs on a newer one.

import { afterAll, beforeAll } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { npmPlatform, npmProgram } from '../../support/npm-program.ts';
import { describeChart } from '../short/chart.ts';
import type { OwnedCluster } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';

const version = '24.21.0';
const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);
let cluster: OwnedCluster;

beforeAll(async () => {
  const name = `node-${npmPlatform}`;
  const node = await npmProgram({ name, version, binary: `${name}/bin/node` });
  cluster = await openOwnNodes({ node, say });
});
afterAll(() => cluster?.stop());

describeChart(() => cluster, say, {
  nodeVersion: `v${version}`,
  values: { image: { tag: `${packageJson.version}-node24` } },
});
