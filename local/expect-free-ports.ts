// Which of the ports are taken? All of them in one message, before anything is written or started.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { explainTaken } from './explain-start.ts';
import { type LocalSettings, PORT_FIELDS } from './settings.ts';

/** @throws {Error} that names each port of another program, and its variable. */
export async function expectFreePorts(settings: LocalSettings, host: string): Promise<void> {
  const taken: (typeof PORT_FIELDS)[number][] = [];
  for (const field of PORT_FIELDS) if (await isTaken(settings[field], host)) taken.push(field);
  if (taken.length > 0) throw new Error(explainTaken(taken, settings));
}

/** Other faults are reported where the port is used. */
async function isTaken(port: number, host: string): Promise<boolean> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  }
  server.close();
  await once(server, 'close');
  return false;
}
