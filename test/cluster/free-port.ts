// Which port can a server of the test cluster have, and keep when it is killed and started again?

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below what systems give to outgoing connections (from 32768 on Linux, 49152 elsewhere): one of those could take the port while
 * its server is down.
 */
const firstPort = 20_000;
const portCount = 12_000;
/** Ports of one worker. More workers than have a range of their own share them, from the first on. */
const rangeWidth = 200;

const rangeStart = firstPort + ((Number(process.env.VITEST_POOL_ID ?? 0) * rangeWidth) % portCount);
let handedOut = randomInt(rangeWidth);

/**
 * A port nobody listens on, and that nobody else is reported until its server had time to take it: each worker of the test runner has
 * ports of its own, and gives each of them in its turn.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = rangeStart + (handedOut++ % rangeWidth);
    const server = createServer();
    const isFree = once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.listen(port, host);
    if (!(await isFree)) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
