// Does the dashboard run as it is shipped? A process with nothing but its environment, of no ServiceAccount, that ends when reported.

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { builtCheckout } from '../cluster/checkout.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { freePort } from '../cluster/free-port.ts';
import { startProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { openBrowser, type People } from './house.ts';

const main = async () => join(await builtCheckout(), 'dashboard.js');

export function processSuite(plane: () => ControlPlane, people: () => People): void {
  test('it signs users in with only its environment, prints no secret, and ends on a signal', async () => {
    const pages = join(plane().folder, 'pages');
    await mkdir(pages);
    await writeFile(join(pages, 'index.html'), '<!doctype html>');
    const keys = join(plane().folder, 'session-keys');
    await writeFile(keys, `${randomBytes(32).toString('base64')}\n${randomBytes(32).toString('base64')}\n`);
    const port = await freePort();
    const running = await startProcess(await main(), {
      env: {
        PENSTOCK_DASHBOARD_HOST: '127.0.0.1',
        PENSTOCK_DASHBOARD_PORT: String(port),
        PENSTOCK_DASHBOARD_METRICS_PORT: '0',
        PENSTOCK_DASHBOARD_PAGES: pages,
        PENSTOCK_DASHBOARD_SESSION_KEYS_FILE: keys,
        PENSTOCK_DASHBOARD_KUBERNETES_CA_FILE: plane().caFile,
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: new URL(plane().url).port,
      },
    });
    try {
      const started: unknown = JSON.parse(await running.line(/dashboard started/));
      const { metricsUrl } = z.object({ metricsUrl: z.string() }).parse(started);
      const inside = async (path: string) => {
        const answer = await fetch(`${metricsUrl}${path}`);
        return [answer.status, await answer.text()] as const;
      };
      expect(await inside('/livez')).toEqual([200, 'ok\n']);
      expect(await inside('/readyz')).toEqual([200, 'ok\n']);
      const browser = openBrowser({ port }, `http://localhost:${port}`);
      expect((await browser.signIn(people().editor)).body.user.name).toBe(
        'system:serviceaccount:team-a:editor',
      );
      expect((await browser.ask('/api/namespaces')).body.namespaces).toEqual(['team-a']);
      // A page that is open is a stream; what it follows is a request that has not ended.
      const stream = await browser.stream('/api/watch?kind=apikeys&namespace=team-a');
      const figures = async (line: string) => (await inside('/metrics'))[1].split('\n').includes(line);
      await until(() => figures('penstock_dashboard_streams 1'));
      stream.close();
      await until(() => figures('penstock_dashboard_streams 0'));
      await until(() => figures('penstock_dashboard_requests_total{route="/api/watch",status="2xx"} 1'));
      for (const line of [
        'penstock_dashboard_sign_ins_total{way="token",outcome="admitted"} 1',
        'penstock_dashboard_requests_total{route="/api/session",status="2xx"} 1',
        'penstock_dashboard_requests_total{route="/api/namespaces",status="2xx"} 1',
      ])
        expect(await figures(line), line).toBe(true);
      expect((await inside('/metrics'))[1]).toContain('\nprocess_cpu_seconds_total ');
      expect((await browser.ask('/metrics')).text).not.toContain('penstock_dashboard');
    } finally {
      expect(await running.stop()).toEqual({ code: 0, signal: null });
    }
    expect(running.stdout() + running.stderr()).not.toContain(people().editor.slice(0, 30));
  });

  test('it says what is missing, and ends', async () => {
    const running = await startProcess(await main(), {
      env: { PENSTOCK_DASHBOARD_KUBERNETES_URL: plane().url, PENSTOCK_DASHBOARD_PAGES: plane().folder },
    });
    expect(await running.exit).toEqual({ code: 1, signal: null });
    expect(running.stdout()).toContain('build the pages first');
  });
}
