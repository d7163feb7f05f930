// Does an API server answer at a path, and with which status? On a connection of its own each time: those of before may be frozen.

import { Agent, request } from 'node:https';

export interface StatusAsker {
  /** Undefined where no answer came within 5 s. */
  ask(path: string): Promise<number | undefined>;
  close(): void;
}

export function makeStatusAsker(server: {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
}): StatusAsker {
  const agent = new Agent({ ca: server.ca, keepAlive: false });
  const headers = { authorization: `Bearer ${server.token}` };
  return {
    ask: (path) =>
      new Promise((resolve) => {
        const asking = request(`${server.url}${path}`, { agent, headers, timeout: 5_000 }, (answer) => {
          answer.resume();
          answer.on('close', () => resolve(answer.statusCode));
        });
        asking.on('timeout', () => asking.destroy());
        asking.on('error', () => resolve(undefined));
        asking.end();
      }),
    close: () => agent.destroy(),
  };
}
