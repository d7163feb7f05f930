// Does an API server answer at a path, with which status and text? On a connection of its own each time: earlier ones may be frozen.

import { Agent, request } from 'node:https';

export interface StatusAsker {
  /** Undefined where no answer came within 5 s. */
  ask(path: string): Promise<number | undefined>;
  /** The body of the answer; empty where none came within 5 s. */
  read(path: string): Promise<string>;
  close(): void;
}

export function makeStatusAsker(server: {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
}): StatusAsker {
  const agent = new Agent({ ca: server.ca, keepAlive: false });
  const headers = { authorization: `Bearer ${server.token}` };
  function get(path: string): Promise<{ readonly status?: number | undefined; readonly text: string }> {
    return new Promise((resolve) => {
      const asking = request(`${server.url}${path}`, { agent, headers, timeout: 5_000 }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        answer.on('close', () => resolve({ status: answer.statusCode, text }));
      });
      asking.on('timeout', () => asking.destroy());
      asking.on('error', () => resolve({ text: '' }));
      asking.end();
    });
  }
  return {
    ask: async (path) => (await get(path)).status,
    read: async (path) => (await get(path)).text,
    close: () => agent.destroy(),
  };
}
