// Where the second port of a gateway is taken, is the first one free again?

import { createServer, type Server } from 'node:net';
import { expect, test } from 'vitest';
import { openMemoryJournal } from '../../../gateway/meter/journal.ts';
import { startGateway } from '../../../gateway/process/start.ts';
import { TableHolder } from '../../../gateway/table/holder.ts';

test('a gateway that cannot start leaves nothing open', async () => {
  const metrics = await listening(0);
  const probe = await listening(0);
  await new Promise((resolve) => probe.server.close(resolve));
  const holder = new TableHolder();
  const starting = startGateway({
    host: '127.0.0.1',
    port: probe.port,
    metricsPort: metrics.port,
    holder,
    journal: openMemoryJournal(() => {}),
    showProvider: true,
    drainAcceptMs: 0,
    drainGraceMs: 0,
    onFailure: () => {},
  });
  await expect(starting).rejects.toThrow(`127.0.0.1:${metrics.port}`);
  const again = await listening(probe.port);
  expect(again.port).toBe(probe.port);
  again.server.close();
  metrics.server.close();
});

function listening(wanted: number): Promise<{ server: Server; port: number }> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(wanted, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('no TCP port'));
      else resolve({ server, port: address.port });
    });
  });
}
