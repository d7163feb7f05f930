// Everything that a dashboard is between: a real API server, operator, gateways and ledger, a provider, the dashboard as a process
// with the pages as they are built, and a browser. Started once for all suites: it costs more than what is asked of it.

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { builtCheckout } from '../../cluster/checkout.ts';
import { freePort } from '../../cluster/free-port.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { type Installation, startInstallation } from '../../flow/cluster/installation.ts';
import {
  credentialSecret,
  importedApiKey,
  modelRoute,
  namespaceOf,
  provider,
} from '../../flow/cluster/manifests.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';
import { makePeople, type People } from '../house.ts';
import { type Look, openChromium, openVisitor, type Visitor } from './chromium.ts';

export interface Stage {
  readonly installation: Installation;
  readonly simulator: Simulator;
  readonly people: People;
  readonly dashboard: RunningProcess;
  /** Of the dashboard. */
  readonly url: string;
  /** The address for people. */
  readonly gatewayUrl: string;
  /** Somebody new, signed in by the page with that token. */
  enter(who: keyof People, look?: Look): Promise<Visitor>;
  /** Nobody yet. */
  visit(look?: Look): Promise<Visitor>;
}

/** What platform and tenants have. */
export interface Scene {
  /** @param url Of the simulator. */
  objects(url: string): readonly object[];
  /** Ready before the first test: kind, name and namespace. */
  readonly ready: readonly (readonly [ref: string, namespace: string])[];
}

/** The model `m`, one that answers word by word, one of team-a's own, and a key in each namespace. */
const usualScene: Scene = {
  objects: usualObjects,
  ready: [
    ['apikey/known', 'team-a'],
    ['apikey/known', 'team-b'],
    ['modelroute/m', 'platform'],
    ['modelroute/paced', 'platform'],
  ],
};

function usualObjects(url: string): readonly object[] {
  // Dollars for a million tokens, so high that a few tokens use up a budget.
  const pricing = { inputPerMillion: '100000', outputPerMillion: '200000' };
  const shared = { pricing, allowedNamespaces: { from: 'All' } };
  const own = { name: 'main', providerRef: { name: 'listed' }, upstreamModel: 'sim' };
  const paced = { name: 'sim', providerRef: { name: 'sim' }, upstreamModel: 'sim+pace=60+tokens=40' };
  return [
    namespaceOf('platform'),
    credentialSecret('platform', 'sim', url, 'sk-of-the-platform'),
    provider('platform', 'sim', url, 'sim'),
    modelRoute('platform', 'm', ['sim'], shared),
    modelRoute('platform', 'paced', [], { ...shared, targets: [paced] }),
    provider('team-a', 'listed', url, '', { auth: { type: 'None' } }),
    modelRoute('team-a', 'listed', [], { targets: [own] }),
    importedApiKey('team-a', 'known', { owner: { name: 'Ada' } }),
    importedApiKey('team-b', 'known'),
  ];
}

/** @param memoryGib Of the API server, see control planes. */
export function useStage(memoryGib = 1, scene = usualScene): () => Stage {
  const parts = new AsyncDisposableStack();
  let stage: Stage | undefined;
  beforeAll(async () => {
    stage = await startStage(parts, memoryGib, scene);
  }, clusterWaitMs);
  afterAll(() => parts.disposeAsync(), 60_000);
  return () => {
    if (stage === undefined) throw new Error('the stage is there only while tests and hooks run');
    return stage;
  };
}

async function startStage(parts: AsyncDisposableStack, memoryGib: number, scene: Scene): Promise<Stage> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const simulator = await startSimulator();
  parts.defer(() => simulator.close());
  // Before all that takes long: a missing browser is reported at once.
  const browser = await openChromium();
  parts.defer(() => browser.close());
  const installation = await startInstallation({
    operators: 1,
    gateways: 2,
    hasLedger: true,
    // Its files are searched.
    plane: { hasOwnEtcd: true, memoryGib },
    gatewayEnv: { PENSTOCK_ALLOWED_ORIGINS: url },
  });
  parts.defer(() => installation.stop());
  const { plane } = installation;
  const people = await makePeople(plane);
  await installation.apply(...scene.objects(simulator.url));
  const gatewayUrl = installation.gateways[0]?.url ?? '';
  const dist = await builtCheckout();
  const dashboard = await startProcess(join(dist, 'dashboard.js'), {
    env: {
      PENSTOCK_DASHBOARD_HOST: '127.0.0.1',
      PENSTOCK_DASHBOARD_PORT: String(port),
      PENSTOCK_DASHBOARD_METRICS_PORT: '0',
      PENSTOCK_DASHBOARD_PAGES: join(dist, 'dashboard'),
      PENSTOCK_DASHBOARD_KUBERNETES_URL: plane.url,
      PENSTOCK_DASHBOARD_KUBERNETES_CA_FILE: plane.caFile,
      PENSTOCK_DASHBOARD_LEDGER_URL: installation.ledger().url,
      PENSTOCK_DASHBOARD_GATEWAY_URL: gatewayUrl,
    },
  });
  parts.defer(async () => void (await dashboard.stop()));
  await dashboard.line(/dashboard started/);
  for (const [ref, place] of scene.ready) await installation.awaitCondition(ref, 'Ready', place);
  const visit = (look?: Look) => openVisitor(browser, look);
  return {
    ...{ installation, simulator, people, dashboard, url, gatewayUrl, visit },
    async enter(who, look) {
      const visitor = await visit(look);
      await visitor.page.goto(url);
      await signIn(visitor.page, people[who]);
      return visitor;
    },
  };
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Token', exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await heading(page, 'Overview');
}

/** The view has come. */
export async function heading(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor();
}
