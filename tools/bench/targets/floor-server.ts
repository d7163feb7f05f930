// The floor relay in a separate process: `node floor-server.ts PORT UPSTREAM_PORT`.

import { createFloorRelay } from './floor-relay.ts';

const [port, upstreamPort] = process.argv.slice(2);
const relay = createFloorRelay(`http://127.0.0.1:${upstreamPort}`);
relay.server.listen(Number(port), '127.0.0.1', 4096);
// An orderly exit, because a profile is only written by one.
process.once('SIGTERM', () => process.exit(0));
