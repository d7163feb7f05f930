// The smallest service of a cluster's test: says in which pod it is, or much, and writes down who asked for what.

import { createServer } from 'node:http';
import { hostname } from 'node:os';

const server = createServer((request, response) => {
  console.log(`${request.method} ${request.url}`);
  response.end(request.url === '/long' ? 'x'.repeat(40_000) : hostname());
});
server.listen(8080);
process.on('SIGTERM', () => server.close(() => process.exit()));
