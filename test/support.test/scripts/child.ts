// A process to practise on: says what its first argument wants and behaves accordingly.

import { createServer } from 'node:http';

const [mode] = process.argv.slice(2);
if (mode === 'fail') {
  console.error('cannot go on');
  process.exitCode = 3;
} else {
  let asked = 0;
  if (mode === 'stubborn') process.on('SIGTERM', () => console.log(`not yet, asked ${++asked} times`));
  const server = createServer((_request, response) => response.writeHead(204).end());
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    console.log(`listening on ${typeof address === 'object' ? address?.port : address}`);
    console.log(`environment ${Object.keys(process.env).sort().join(' ')}`);
  });
}
