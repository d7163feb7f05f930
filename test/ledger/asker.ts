// Who asks a read API and is no part of it? A thread of its own: what it costs to read an answer is nothing that the ledger waits for.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Asker {
  /** In turn. */
  ask(path: string): Promise<{ readonly status: number; readonly ms: number; readonly bytes: number }>;
  close(): Promise<void>;
}

const code = `
const { parentPort, workerData } = require('node:worker_threads');
parentPort.on('message', async (path) => {
  const askedAt = performance.now();
  const answer = await fetch(workerData + path, { headers: { authorization: 'Bearer anybody' } });
  const { byteLength: bytes } = await answer.arrayBuffer();
  parentPort.postMessage({ status: answer.status, ms: performance.now() - askedAt, bytes });
});`;

export function openAsker(port: number): Asker {
  const worker = new Worker(code, { eval: true, workerData: `http://127.0.0.1:${port}` });
  return {
    async ask(path) {
      worker.postMessage(path);
      const [answer] = await once(worker, 'message');
      return answer;
    },
    async close() {
      await worker.terminate();
    },
  };
}
