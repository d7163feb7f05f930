// Do fifty names whose servers are dead keep a healthy one from being looked up, or the journal from being written? A script for a
// network of its own, where names are asked of a name server that never answers for the dead ones: by the system's resolver, with the
// threads that the image gives.

import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createLookupLanes, suspectsMaxOf } from '../../../core/egress/lookup-lanes.ts';
import { resolveBySystem } from '../../../core/egress/resolve.ts';
import { until } from '../../support/until.ts';

export interface DeadNamesInput {
  readonly names: number;
  readonly rounds: number;
  readonly threads: number;
}

export interface DeadNamesOutput {
  /** Lookups of dead names that ended without an answer. */
  readonly unanswered: number;
  readonly healthyMs: readonly number[];
  readonly writesMs: readonly number[];
}

async function measure({ names, rounds, threads }: DeadNamesInput, folder: string): Promise<DeadNamesOutput> {
  const server = createSocket('udp4');
  server.on('message', (question, from) => {
    if (question.includes('dead')) return;
    server.send(answerTo(question), from.port, from.address);
  });
  server.bind(53, '127.0.0.1');
  await once(server, 'listening');
  const lanes = createLookupLanes({
    resolve: resolveBySystem,
    suspectsMax: suspectsMaxOf(threads),
    nowMs: () => performance.now(),
  });
  let unanswered = 0;
  const healthyMs: number[] = [];
  const writesMs: number[] = [];
  const timed = async (into: number[], work: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    await work();
    into.push(Math.round(performance.now() - startedAt));
  };
  for (let round = 0; round < rounds; round++) {
    const dead = Array.from({ length: names }, (_, index) =>
      lanes(`dead-${index}.example`).catch(() => {
        unanswered++;
      }),
    );
    let isOver = false;
    const over = Promise.all(dead).then(() => {
      isOver = true;
    });
    await until(async () => {
      // Another name each time: nothing is known of it.
      await timed(healthyMs, () => lanes(`healthy-${healthyMs.length}.example`));
      await timed(writesMs, () => appendFile(`${folder}.journal`, 'a record\n'));
      return isOver;
    });
    await over;
  }
  server.close();
  return { unanswered, healthyMs, writesMs };
}

/** One address for questions of IPv4, none for IPv6 (RFC 1035, section 4.1). */
function answerTo(question: Buffer): Buffer {
  const nameEnd = question.indexOf(0, 12);
  const isIpv4 = question.readUInt16BE(nameEnd + 1) === 1;
  const head = Buffer.from(question.subarray(0, nameEnd + 5));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(isIpv4 ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  if (!isIpv4) return head;
  const record = Buffer.from('c00c00010001000000000004c0000201', 'hex');
  return Buffer.concat([head, record]);
}

const [script, inputFile, outputFile, isInside] = process.argv.slice(1);
if (script === fileURLToPath(import.meta.url) && inputFile !== undefined && outputFile !== undefined) {
  const input = JSON.parse(await readFile(inputFile, 'utf8')) as DeadNamesInput;
  if (isInside === undefined) {
    // The pool has its size before any of it is used.
    const env = { ...process.env, UV_THREADPOOL_SIZE: String(input.threads) };
    spawnSync(process.execPath, [script, inputFile, outputFile, 'inside'], { env, stdio: 'inherit' });
  } else await writeFile(outputFile, JSON.stringify(await measure(input, outputFile)));
}
