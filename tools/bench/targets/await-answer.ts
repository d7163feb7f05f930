// Is this target up, and does it answer as it should? One small request, repeated until it is served.

import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningTarget } from './target.ts';

const START_MS_MAX = 20_000;
const PAUSE_MS = 50;

type Answer = { status: number; text: string };

/** @throws Error when the target ends, or does not answer 200 with the mock's answer in time. */
export async function awaitAnswer(target: RunningTarget): Promise<void> {
  const endsAtMs = Date.now() + START_MS_MAX;
  let last = 'nothing';
  while (Date.now() < endsAtMs) {
    if (target.process.hasExited()) {
      throw new Error(
        `${target.name} ended while it started; its log says: ${target.process.logTail() || 'nothing'}`,
      );
    }
    try {
      const answer = await ask(target);
      if (answer.status === 200 && answer.text.includes('"chatcmpl-bench"')) return;
      last = `${answer.status} ${answer.text.slice(0, 300)}`;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await delay(PAUSE_MS);
  }
  throw new Error(
    `${target.name} did not serve its first request within ${START_MS_MAX} ms; the last answer was: ${last}; its log says: ${target.process.logTail() || 'nothing'}`,
  );
}

function ask(target: RunningTarget): Promise<Answer> {
  const body = JSON.stringify({
    model: target.modelName('unary'),
    messages: [{ role: 'user', content: 'Are you there?' }],
  });
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...(target.authorization === undefined ? {} : { authorization: target.authorization }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: target.port,
        path: '/v1/chat/completions',
        method: 'POST',
        headers,
        agent: false,
        timeout: 5000,
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer within 5 s')));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
