// Do the signer and the parser of AWS's own library agree with ours? Botocore gets the same random requests and streams.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { eventStream } from '../../gateway/upstream/bedrock/event-stream.ts';
import { signerFor } from '../../gateway/upstream/bedrock/sign.ts';
import { eventFrame, exceptionFrame } from '../../simulator/clouds/event-stream.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { pythonWith } from '../support/python.ts';
import { makeRandom } from '../support/wall/split.ts';

let python: string;

beforeAll(async () => {
  python = await pythonWith(['botocore==1.43.11']);
});

async function judge(cases: readonly object[]): Promise<unknown[]> {
  const script = join(import.meta.dirname, 'clouds/aws_judge.py');
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = { env: bareEnvironment(), maxBuffer: 2 ** 28 };
  const child = execFile(python, [script], options, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  );
  child.stdin?.end(cases.map((one) => JSON.stringify(one)).join('\n'));
  const lines = (await promise).trim().split('\n');
  return lines.map((line): unknown => JSON.parse(line));
}

const random = makeRandom(20261127);
const below = (bound: number): number => Math.floor(random() * bound);
const letters = "abcXYZ019:/%.-_~ @+=&?#!'()*,;$äß漢🙂";
const text = (lengthMax: number): string =>
  Array.from({ length: 1 + below(lengthMax) }, () => [...letters][below([...letters].length)]).join('');

test('5,000 random requests have the signatures of botocore', async () => {
  const cases = Array.from({ length: 5_000 }, () => {
    const service = random() < 0.5 ? 'bedrock' : 'bedrock-mantle';
    const host = `bedrock-runtime.eu-west-1.amazonaws.com${random() < 0.2 ? ':8443' : ''}`;
    const path = `/model/${encodeURIComponent(text(40))}/converse${random() < 0.5 ? '-stream' : ''}`;
    const pairs = Array.from({ length: below(3) }, () => [text(6), text(6)].map(strictly).join('='));
    const query = pairs.length === 0 ? '' : `?${pairs.join('&')}`;
    const body = Buffer.from(JSON.stringify({ messages: [text(500)] }));
    const nowMs = Date.UTC(2026, 0, 1) + below(365 * 86_400_000);
    const credentials = {
      accessKeyId: 'AKIDEXAMPLE0123456',
      secretAccessKey: text(40).replace(/\s/g, 'x'),
      ...(random() < 0.5 ? { sessionToken: 'T/+=abc' } : {}),
    };
    const sign = signerFor(credentials, { region: 'eu-west-1', service });
    const headers = ['content-type', 'application/json', 'user-agent', 'penstock', 'accept', '*/*'];
    const cut = below(body.length);
    const added = sign(
      { method: 'POST', host, path, query, headers },
      [body.subarray(0, cut), body.subarray(cut)],
      nowMs,
    );
    const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
    const asked = {
      ...credentials,
      service,
      host,
      path,
      query,
      time,
      region: 'eu-west-1',
      body: body.toString('base64'),
    };
    return { asked, signature: /Signature=([0-9a-f]{64})$/.exec(added.at(-1) ?? '')?.[1] };
  });
  const judged = await judge(cases.map(({ asked }) => asked));
  const differences = cases.flatMap(({ asked, signature }, at) => (judged[at] === signature ? [] : [asked]));
  expect(judged).toHaveLength(5_000);
  expect(differences).toEqual([]);
});

/** As AWS encodes: also what browsers leave. */
function strictly(value: string): string {
  return encodeURIComponent(value).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

test('10,000 random streams, cut and damaged anywhere, are read as by botocore, or fail in both', async () => {
  const cases = Array.from({ length: 10_000 }, () => {
    const frames = Array.from({ length: 1 + below(4) }, () =>
      random() < 0.1
        ? exceptionFrame('throttlingException', text(30))
        : eventFrame('contentBlockDelta', { delta: { text: text(60) } }),
    );
    let whole: Buffer = Buffer.concat(frames);
    const fate = random();
    if (fate < 0.3) whole = whole.subarray(0, below(whole.length));
    else if (fate < 0.7) {
      whole = Buffer.from(whole);
      const at = below(whole.length);
      whole[at] = (whole[at] ?? 0) ^ (1 + below(255));
    }
    const chunks: Buffer[] = [];
    for (let at = 0; at < whole.length; ) {
      const to = at + 1 + below(100);
      chunks.push(whole.subarray(at, to));
      at = to;
    }
    return chunks;
  });
  const judged = await judge(
    cases.map((chunks) => ({ chunks: chunks.map((chunk) => chunk.toString('base64')) })),
  );
  const ours = cases.map((chunks) => {
    const reader = eventStream.open?.();
    if (!reader) throw new Error('the framing has no reader');
    let events = '';
    for (const chunk of chunks) events += reader.push(chunk).toString();
    const names = [...events.matchAll(/^event: (\w+)$/gm)].map(([, name]) =>
      name === 'error' ? 'throttlingException' : name,
    );
    return { names, fails: reader.flaw !== undefined || reader.pendingBytes > 0 };
  });
  expect(judged.filter((one) => (one as { fails: boolean }).fails).length).toBeGreaterThan(5_000);
  expect(ours).toEqual(judged);
});
