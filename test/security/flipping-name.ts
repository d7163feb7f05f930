// Does a name that leads elsewhere at each look ever lead inside? Requests over connections of their own, to a name that is answered
// with an open address and with a forbidden one in turn; behind each a server listens for real, on the same port.

import { Pool } from 'undici';
import { makeConnector } from '../core/egress/connect-to.ts';
import { startRecordingUpstream } from './recording-upstream.ts';

export interface FlippingRun {
  readonly asked: number;
  /** How often the name was answered with the forbidden address. */
  readonly ledInside: number;
  /** Connections and requests at the server there: none, if all is well. */
  readonly reached: number;
  /** Requests that the open server answered. */
  readonly answered: number;
  readonly refused: number;
}

/** Both are this machine; one is opened, and represents the outside. */
const outside = '127.0.0.2';
const inside = '127.0.0.1';

export async function runFlippingName(asked: number): Promise<FlippingRun> {
  const forbidden = await startRecordingUpstream(() => ({ body: '{}' }), inside);
  const open = await startRecordingUpstream(
    () => ({ body: '{}', headers: { connection: 'close' } }),
    outside,
    forbidden.port,
  );
  let looks = 0;
  let refused = 0;
  const connect = makeConnector({
    allow: [{ cidr: `${outside}/32`, namespaces: ['team-a'] }],
    resolve: async () => [looks++ % 2 === 1 ? inside : outside],
  });
  const client = new Pool(`http://flip.example:${forbidden.port}`, { connect, connections: 1 });
  try {
    for (let sent = 0; sent < asked; sent++) {
      try {
        const answer = await client.request({ method: 'GET', path: '/' });
        await answer.body.dump();
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'egress_denied')) throw error;
        refused++;
      }
    }
    const reached = forbidden.connections() + forbidden.requests.length;
    return { asked, ledInside: Math.floor(looks / 2), reached, answered: open.requests.length, refused };
  } finally {
    await client.close();
    await open.close();
    await forbidden.close();
  }
}
