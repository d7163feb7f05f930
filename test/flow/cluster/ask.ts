// How does a test ask a gateway of an installation? One plain chat completion on a connection that is kept open.

import { Agent, request } from 'node:http';
import { z } from 'zod';
import { until } from '../../support/until.ts';
import type { GatewayProcess, Installation } from './installation.ts';

export interface Said {
  /** 0 where no answer came. */
  readonly status: number;
  /** Header `x-penstock-generation`. */
  readonly generation: number | undefined;
  /** Header `x-penstock-attempts`. */
  readonly attempts: number | undefined;
  /** `model` of the body: the upstream's own. */
  readonly model: string | undefined;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true });
const bodySchema = z.object({ model: z.string() });

/** Never rejects: no answer is a result. */
export function askGateway(
  gateway: Pick<GatewayProcess, 'url'>,
  key: string,
  model: string,
  content = 'three plain words',
): Promise<Said> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content }] });
  const nothing = { status: 0, generation: undefined, attempts: undefined, model: undefined };
  return new Promise((resolve) => {
    const asking = request(
      `${gateway.url}/v1/chat/completions`,
      {
        agent,
        method: 'POST',
        timeout: 30_000,
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('error', (error) => resolve({ ...nothing, text: error.message }));
        response.on('end', () => {
          const number = (header: string) => {
            const value = response.headers[header];
            return value === undefined ? undefined : Number(value);
          };
          resolve({
            status: response.statusCode ?? 0,
            generation: number('x-penstock-generation'),
            attempts: number('x-penstock-attempts'),
            model: readModel(text),
            text,
          });
        });
      },
    );
    asking.on('timeout', () => asking.destroy(new Error('no answer within 30 s')));
    asking.on('error', (error) => resolve({ ...nothing, text: error.message }));
    asking.end(body);
  });
}

/** Asks until the answer is as wanted; a gateway gives no event when it takes a table. */
export async function askUntil(
  gateway: Pick<GatewayProcess, 'url'>,
  key: string,
  model: string,
  isWanted: (said: Said) => boolean,
): Promise<void> {
  await until(async () => isWanted(await askGateway(gateway, key, model)));
}

function readModel(text: string): string | undefined {
  try {
    return bodySchema.safeParse(JSON.parse(text)).data?.model;
  } catch {
    return undefined;
  }
}

/** Of an ApiKey whose key the operator has made. */
export async function readIssuedKey(
  { plane }: Pick<Installation, 'plane'>,
  namespace: string,
  name: string,
): Promise<string> {
  const path = ['-n', namespace, `${name}-key`, '-o', 'jsonpath={.data.apiKey}'];
  return Buffer.from(await plane.mustKubectl(['get', 'secret', ...path]), 'base64').toString();
}
