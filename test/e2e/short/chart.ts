// Does `helm install` with the demo lead to streamed answers without any real key, on a network that holds the chart's
// NetworkPolicies, and `helm uninstall` to what was before?

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { helm, mustHelm, RELEASE_NAMESPACE, type Values } from '../../charts/helm.ts';
import type { NodeCluster } from '../../cluster/nodes/cluster.ts';
import {
  demoKey,
  demoNamespace,
  gatewayService,
  inRelease,
  installChart,
  ourKinds,
  remainsOf,
} from '../nodes/release.ts';
import { stopwatch } from '../nodes/stopwatch.ts';
import { type Door, doorsOpenTo } from './doors.ts';

export interface ChartImage {
  /** As Node says it of itself. */
  readonly nodeVersion: string;
  readonly values: Values;
}

const usualImage: ChartImage = { nodeVersion: process.version, values: {} };

/** Tests of a cluster that has the image. The last of them takes the chart away again. */
export function describeChart(
  given: () => NodeCluster,
  say: (line: string) => void,
  image: ChartImage = usualImage,
): void {
  describe('the chart with its demo', () => {
    let url: string;
    let key: string;
    let sinceStart: () => number;

    beforeAll(async () => {
      sinceStart = stopwatch();
      await installChart(given(), { ...image.values, demo: { enabled: true } });
      say(`the chart is installed and ready after ${sinceStart()} s`);
      key = await demoKey(given());
      url = await given().reach(gatewayService);
      say(`the demo's key is honoured after ${sinceStart()} s`);
    });

    test.each([
      [RELEASE_NAMESPACE, 'penstock-operator'],
      [RELEASE_NAMESPACE, 'penstock-gateway'],
      [demoNamespace, 'penstock-simulator'],
    ])(`in %s, %s runs on Node ${image.nodeVersion}`, async (namespace, deployment) => {
      const ask = ['exec', `deployment/${deployment}`, '-n', namespace, '--', 'node', '--version'];
      expect((await given().mustKubectl(ask)).trim()).toBe(image.nodeVersion);
    });

    test('streams an answer to the openai SDK', async () => {
      const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
      const stream = await openai.chat.completions.create({
        model: 'demo',
        stream: true,
        messages: [{ role: 'user', content: 'Say hello.' }],
      });
      const pieces: string[] = [];
      let end: string | null | undefined;
      for await (const { choices } of stream) {
        const [choice] = choices;
        if (choice?.delta.content) {
          if (pieces.length === 0) say(`first words in the openai SDK ${sinceStart()} s after helm install`);
          pieces.push(choice.delta.content);
        }
        end = choice?.finish_reason ?? end;
      }
      expect(pieces.length).toBeGreaterThan(1);
      expect(end).toBe('stop');
      expect(sinceStart()).toBeLessThan(60);
    });

    test('streams an answer to the anthropic SDK', async () => {
      const anthropic = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
      const pieces: string[] = [];
      const stream = anthropic.messages
        .stream({ model: 'demo', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello.' }] })
        .on('text', (piece) => {
          if (pieces.length === 0)
            say(`first words in the anthropic SDK ${sinceStart()} s after helm install`);
          pieces.push(piece);
        });
      expect((await stream.finalMessage()).stop_reason).toBe('end_turn');
      expect(pieces.length).toBeGreaterThan(1);
      expect(sinceStart()).toBeLessThan(60);
    });

    test('has each request in its ledger', async () => {
      const days = ['--from', '2020-01-01', '--to', '2100-01-01'];
      const ask = [
        'exec',
        'deployment/penstock-ledger',
        ...inRelease,
        '--',
        'node',
        'dist/ledger.js',
        'export',
      ];
      const exported = () => given().mustKubectl([...ask, '--format', 'jsonl', ...days]);
      // Two SDKs asked.
      await expect
        .poll(async () => (await exported()).trim().split('\n').length, { timeout: 30_000 })
        .toBe(2);
    });

    test('lets a pod of another namespace call gateways, and reach nothing else', async () => {
      const doors: Door[] = [
        { component: 'gateway', port: 'http' },
        { component: 'gateway', port: 'internal' },
        { component: 'gateway', port: 'metrics' },
        { component: 'ledger', port: 'http' },
        { component: 'ledger', port: 'metrics' },
        { component: 'operator', port: 'metrics' },
      ];
      expect(await doorsOpenTo(given(), 'default', doors)).toEqual(['gateway http']);
    });

    test('passes helm test, which shows the log', async () => {
      const { code, stdout, stderr } = await helm(given(), ['test', 'penstock', ...inRelease, '--logs']);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/Phase: +Succeeded/);
      expect(stdout).toMatch(/model demo streamed: \S/);
    });

    test('uninstalled, leaves its kinds, TenantPolicies and the namespace that it was put into', async () => {
      await mustHelm(given(), ['uninstall', 'penstock', ...inRelease, '--wait', '--timeout', '2m']);
      say(`uninstalled ${sinceStart()} s after helm install`);
      // Gateways go on accepting for a while.
      await given().mustKubectl(['wait', 'pod', '--all', ...inRelease, '--for=delete', '--timeout=60s']);
      expect(await remainsOf(given())).toEqual([
        ...ourKinds,
        'namespace/penstock-system',
        // Those that the values became.
        ...[0, 1, 2, 3].map((number) => `tenantpolicy.penstock.dev/penstock-egress-${number}`),
        'tenantpolicy.penstock.dev/penstock-platform',
      ]);
    });
  });
}
