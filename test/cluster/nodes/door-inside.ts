// The inner side of the door: takes the connections of each listener it is handed, and joins them to an address of its network.

import { connect, Server, type Socket } from 'node:net';

process.on('message', (message: unknown, listener: unknown) => {
  if (!(listener instanceof Server) || !isAddress(message)) return;
  const { host, port } = message;
  listener.on('connection', (outer: Socket) => {
    const inner = connect({ host, port, allowHalfOpen: true, noDelay: true });
    outer.allowHalfOpen = true;
    outer.setNoDelay(true);
    join(outer, inner);
    join(inner, outer);
  });
});
process.on('disconnect', () => process.exit());

/** What one side does the other feels: its bytes, its end, and its breaking off. */
function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on('error', () => to.resetAndDestroy());
  from.on('close', () => {
    if (!from.readableEnded) to.destroy();
  });
}

function isAddress(value: unknown): value is { host: string; port: number } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'host' in value &&
    typeof value.host === 'string' &&
    'port' in value &&
    typeof value.port === 'number'
  );
}
