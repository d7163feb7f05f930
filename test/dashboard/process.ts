// Does the dashboard run as it is shipped? A process with nothing but its environment, of no ServiceAccount, that ends when told.

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { freePort } from '../cluster/free-port.ts';
import { startProcess } from '../support/process.ts';
import { openBrowser, type People } from './house.ts';

const main = fileURLToPath(new URL('../../dashboard/main.ts', import.meta.url));

export function processSuite(plane: () => ControlPlane, people: () => People): void {
  test('it signs people in with nothing but its environment, says nothing secret, and ends when told', async () => {
    const pages = join(plane().folder, 'pages');
    await mkdir(pages);
    await writeFile(join(pages, 'index.html'), '<!doctype html>');
    const keys = join(plane().folder, 'session-keys');
    await writeFile(keys, `${randomBytes(32).toString('base64')}\n${randomBytes(32).toString('base64')}\n`);
    const port = await freePort();
    const running = await startProcess(main, {
      env: {
        PENSTOCK_DASHBOARD_HOST: '127.0.0.1',
        PENSTOCK_DASHBOARD_PORT: String(port),
        PENSTOCK_DASHBOARD_PAGES: pages,
        PENSTOCK_DASHBOARD_SESSION_KEYS_FILE: keys,
        PENSTOCK_DASHBOARD_KUBERNETES_CA_FILE: plane().caFile,
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: new URL(plane().url).port,
      },
    });
    try {
      await running.line(/dashboard started/);
      const browser = openBrowser({ port }, `http://localhost:${port}`);
      expect((await browser.signIn(people().editor)).body.user.name).toBe(
        'system:serviceaccount:team-a:editor',
      );
      expect((await browser.ask('/api/namespaces')).body.namespaces).toEqual(['team-a']);
    } finally {
      expect(await running.stop()).toEqual({ code: 0, signal: null });
    }
    expect(running.stdout() + running.stderr()).not.toContain(people().editor.slice(0, 30));
  });

  test('it says what is missing, and ends', async () => {
    const running = await startProcess(main, {
      env: { PENSTOCK_DASHBOARD_KUBERNETES_URL: plane().url, PENSTOCK_DASHBOARD_PAGES: plane().folder },
    });
    expect(await running.exit).toEqual({ code: 1, signal: null });
    expect(running.stdout()).toContain('build the pages first');
  });
}
