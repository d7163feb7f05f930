// What do attackers cost who attack somebody else? A server beside the gateway, on the same core, which lets go of about as many of them
// and does nothing else: what callers of the gateway wait for it is the machine's doing, and not the gateway's.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer(
  { headersTimeout: 40_000, requestTimeout: 40_000, connectionsCheckingInterval: 20 },
  (request) => void request.resume(),
);
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
