// Does a provider type with ways of its own fit in with a row alone? An imaginary cloud takes each seat on the way upstream, in a
// gateway as it runs.

import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { withBodyMembers } from '../../../gateway/upstream/body.ts';
import type { Lease } from '../../../gateway/upstream/credential.ts';
import type { SeatRows } from '../../../gateway/upstream/seats.ts';
import type { UpstreamReceiver } from '../../../gateway/upstream/send.ts';
import { sendOnceRenewed } from '../../../gateway/upstream/send-once-renewed.ts';
import { sendRenewable } from '../../../gateway/upstream/send-renewable.ts';
import { ask, textOf } from '../../flow/ask.ts';
import { type Rig, type RigTarget, startRig, tableOf, testKey } from '../rig.ts';
import {
  type Cloud,
  cloudType,
  deploymentAddress,
  frame,
  lengthFraming,
  rowWith,
  signatureOf,
  signedLease,
  startCloud,
  TokenCredential,
} from './imaginary-cloud.ts';

const plain = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content: 'well said' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

function answerPlain(response: ServerResponse): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(plain));
}

interface Scene extends AsyncDisposable {
  readonly cloud: Cloud;
  readonly rig: Rig;
}

async function open(
  answer: Parameters<typeof startCloud>[0],
  seats: SeatRows,
  more: Partial<RigTarget> = {},
  others: (cloud: Cloud) => readonly RigTarget[] = () => [],
): Promise<Scene> {
  const parts = new AsyncDisposableStack();
  const cloud = parts.adopt(await startCloud(answer), (one) => one.close());
  const target = { baseUrl: cloud.baseUrl, providerEntry: { type: cloudType }, ...more };
  const rig = parts.adopt(await startRig(tableOf([target, ...others(cloud)]), { seats }), (one) =>
    one.close(),
  );
  return { cloud, rig, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

describe('the address of a provider type', () => {
  const seats = rowWith({ addressFor: deploymentAddress });
  const upstreamModel = 'vendor/model:v1';
  const deployment = '/base/deployments/vendor%2Fmodel%3Av1';

  test('holds the model in its path and has a query', async () => {
    await using scene = await open(answerPlain, seats, { upstreamModel });
    expect((await ask(scene.rig)).status).toBe(200);
    expect(scene.cloud.calls.map(({ url }) => url)).toEqual([`${deployment}/invoke?api-version=2026-11-01`]);
  });

  test('differs for a stream', async () => {
    await using scene = await open(answerPlain, seats, { upstreamModel });
    await ask(scene.rig, { isStream: true });
    expect(scene.cloud.calls[0]?.url).toBe(`${deployment}/stream?api-version=2026-11-01`);
  });

  test('differs for counting tokens', async () => {
    const count = (response: ServerResponse): unknown => response.end('{"input_tokens":7}');
    await using scene = await open(count, seats, { upstreamModel, dialects: ['anthropic-messages'] });
    const { baseUrl } = scene.rig;
    const asked = await fetch(`${baseUrl}/messages/count_tokens`, {
      method: 'POST',
      headers: { 'x-api-key': testKey, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
    });
    expect(await asked.json()).toEqual({ input_tokens: 7 });
    expect(scene.cloud.calls[0]?.url).toBe(`${deployment}/count?api-version=2026-11-01`);
  });

  test('is never at another host than the Provider, whose credentials are bound to it', async () => {
    const elsewhere = rowWith({
      addressFor: (provider, wanted) => ({ ...deploymentAddress(provider, wanted), host: 'elsewhere.test' }),
    });
    await using scene = await open(answerPlain, elsewhere);
    expect((await ask(scene.rig)).status).toBe(500);
    expect(scene.cloud.calls).toEqual([]);
  });
});

describe('the signature of a request', () => {
  const long = { messages: [{ role: 'user', content: 'words '.repeat(40_000) }] };

  test('covers the address and the body as they are sent', async () => {
    const signed: { readonly names: string[]; readonly parts: number }[] = [];
    const lease = signedLease(({ headers }, parts) => {
      signed.push({ names: headers.filter((_, at) => at % 2 === 0), parts: parts.length });
    });
    const seats = rowWith({
      addressFor: deploymentAddress,
      credentialFor: () => ({ lease, renew: () => Promise.resolve(lease) }),
    });
    await using scene = await open(answerPlain, seats);
    expect((await ask(scene.rig, { more: long })).status).toBe(200);
    const { cloud } = scene;
    const [call] = cloud.calls;
    expect(call?.headers['x-cloud-signature']).toBe(
      signatureOf(cloud.host, call?.url ?? '', [call?.body ?? Buffer.alloc(0)]),
    );
    expect(call?.headers.host).toBe(cloud.host);
    expect(signed.map(({ names }) => names)).toEqual([
      ['content-type', 'accept', 'accept-encoding', 'user-agent'],
    ]);
    expect(signed[0]?.parts).toBeGreaterThan(1);
  });

  test('covers the body as the provider type writes it', async () => {
    const lease = signedLease(() => {});
    const seats = rowWith({
      addressFor: deploymentAddress,
      credentialFor: () => ({ lease, renew: () => Promise.resolve(lease) }),
      bodyFor: ({ isStream }, body) => withBodyMembers(body, ['model'], { cloud_version: isStream ? 2 : 1 }),
    });
    await using scene = await open(answerPlain, seats);
    expect((await ask(scene.rig)).status).toBe(200);
    const { cloud } = scene;
    const [{ url, headers, body } = { url: '', headers: {}, body: Buffer.alloc(0) }] = cloud.calls;
    expect(headers['x-cloud-signature']).toBe(signatureOf(cloud.host, url, [body]));
    const sent = JSON.parse(body.toString()) as Record<string, unknown>;
    expect([sent.model, sent.cloud_version, headers['content-length']]).toEqual([
      undefined,
      1,
      String(body.length),
    ]);
  });

  test('is made once for each attempt', async () => {
    const paths: string[] = [];
    const lease = signedLease(({ path }) => paths.push(path));
    const seats = rowWith({
      addressFor: deploymentAddress,
      credentialFor: () => ({ lease, renew: () => Promise.resolve(lease) }),
    });
    const fail = (response: ServerResponse, { url }: { readonly url: string }): void => {
      if (url.includes('first')) response.writeHead(503).end('{}');
      else answerPlain(response);
    };
    await using scene = await open(fail, seats, { upstreamModel: 'first' }, ({ baseUrl }) => [
      { baseUrl, providerEntry: { type: cloudType }, upstreamModel: 'second' },
    ]);
    expect((await ask(scene.rig)).status).toBe(200);
    expect(paths).toEqual(['/base/deployments/first/invoke', '/base/deployments/second/invoke']);
    const signatures = scene.cloud.calls.map(({ headers }) => headers['x-cloud-signature']);
    expect(new Set(signatures).size).toBe(2);
  });
});

describe('a credential that ends', () => {
  const seatsWith = (credential: TokenCredential): SeatRows => rowWith({ credentialFor: () => credential });
  const tokensOf = ({ calls }: Cloud) => calls.map(({ headers }) => headers.authorization);

  test('is renewed before the attempt that finds it expired, and kept until then', async () => {
    const credential = new TokenCredential();
    await using scene = await open(answerPlain, seatsWith(credential));
    await ask(scene.rig);
    await ask(scene.rig);
    if (credential.lease) credential.lease.endsAtMs = Date.now();
    await ask(scene.rig);
    expect(tokensOf(scene.cloud)).toEqual([
      'Bearer token-number-1',
      'Bearer token-number-1',
      'Bearer token-number-2',
    ]);
  });

  test('is renewed once for all requests that wait for it', async () => {
    const credential = new TokenCredential();
    await using scene = await open(answerPlain, seatsWith(credential));
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(scene.rig)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(credential.exchanges).toBe(1);
  });

  test('that cannot be renewed is a failed attempt: the next target takes over', async () => {
    const credential = new TokenCredential();
    credential.refusal = 'the token endpoint is closed';
    await using scene = await open(answerPlain, seatsWith(credential), {}, ({ baseUrl }) => [{ baseUrl }]);
    expect((await ask(scene.rig)).status).toBe(200);
    expect(tokensOf(scene.cloud)).toEqual([undefined]);
    const failures = scene.rig.records.map(({ failure }) => failure);
    // As any connection that does not come about, it is tried twice.
    expect(failures).toEqual(['connect_failed', 'connect_failed', undefined]);
  });

  test('is removed if the upstream repeats it', async () => {
    const credential = new TokenCredential();
    const repeat = (response: ServerResponse): void => {
      const error = { message: 'token-number-1 may not do that', type: 'invalid_request_error' };
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    };
    await using scene = await open(repeat, seatsWith(credential));
    const { text } = await ask(scene.rig);
    expect(text).toContain('[redacted] may not do that');
  });

  test('is not awaited for a client that has disconnected', async () => {
    const renewal = Promise.withResolvers<TokenCredential['lease'] & object>();
    let isSent = false;
    const call = sendOnceRenewed(
      renewal.promise,
      () => {
        isSent = true;
        throw new Error('nobody waits for it');
      },
      {
        onBreak() {
          throw new Error('nobody hears of it');
        },
      },
    );
    call.abort();
    renewal.resolve({ endsAtMs: 0, headers: [], secrets: [] });
    await renewal.promise;
    expect(isSent).toBe(false);
  });
});

describe('a request that cannot be sent again', () => {
  const lease: Lease = { endsAtMs: Number.POSITIVE_INFINITY, headers: [] };
  const secret = 'wJalrXUtnFEMI-of-somebody';
  const broken = (): never => {
    throw new RangeError(secret);
  };

  /** What the attempt hears. */
  function hear(): { readonly receiver: UpstreamReceiver; readonly broke: Promise<string> } {
    const { promise: broke, resolve } = Promise.withResolvers<string>();
    const [onHead, onBody, onEnd] = [broken, broken, broken];
    return {
      receiver: { onHead, onBody, onEnd, onBreak: (code, detail) => resolve(`${code} ${detail}`) },
      broke,
    };
  }

  test('because its credential is not renewed fails with our own message', async () => {
    const { receiver, broke } = hear();
    sendOnceRenewed(Promise.reject(new Error(secret)), broken, receiver);
    expect(await broke).toMatch(/^connect_failed the credential cannot be renewed: /);
    expect(await broke).not.toContain(secret);
  });

  test('because it cannot be signed fails, and does not count against its credential', async () => {
    const { receiver, broke } = hear();
    sendOnceRenewed(Promise.resolve(lease), broken, receiver);
    expect(await broke).toBe('connect_failed the request cannot be signed or written');
  });

  test('after a refusal fails too', async () => {
    const { receiver, broke } = hear();
    const heads: UpstreamReceiver[] = [];
    sendRenewable(
      { lease, renew: () => Promise.resolve(lease), refuse: () => lease },
      Date.now,
      (_, to) => {
        if (heads.push(to) > 1) broken();
        return { isSent: true, abort: () => {}, pause: () => {}, resume: () => {} };
      },
      receiver,
    );
    heads[0]?.onHead(403, () => undefined);
    expect(await broke).toBe('connect_failed the request cannot be signed or written');
  });
});

describe('a framing other than server-sent events', () => {
  const seats = rowWith({ framingFor: () => lengthFraming });
  const chunk = (delta: object, finish: string | null = null): object => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'up',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const frames = Buffer.concat([
    frame(chunk({ role: 'assistant', content: '' })),
    frame(chunk({ content: 'well ' })),
    frame(chunk({ content: 'said' })),
    frame(chunk({}, 'stop')),
    frame({ ...chunk({}), choices: [], usage: plain.usage }),
    frame(undefined),
  ]);
  const answerFrames =
    (bytes: Buffer) =>
    (response: ServerResponse): void => {
      response.setHeader('content-type', lengthFraming.mediaType);
      // In the middle of a length, and of a frame.
      response.write(bytes.subarray(0, 2));
      response.write(bytes.subarray(2, 90));
      response.end(bytes.subarray(90));
    };

  test('is asked for, and reaches a client of the same dialect as server-sent events', async () => {
    await using scene = await open(answerFrames(frames), seats);
    const seen = await ask(scene.rig, { isStream: true });
    expect(textOf(seen)).toBe('well said');
    expect(seen.headers['content-type']).toMatch('text/event-stream');
    expect(scene.cloud.calls[0]?.headers.accept).toBe(lengthFraming.mediaType);
    expect(scene.rig.records[0]?.usage).toMatchObject({ input: 3, output: 2 });
  });

  test('is translated for a client of another dialect', async () => {
    await using scene = await open(answerFrames(frames), seats);
    const seen = await ask(scene.rig, { endpoint: 'messages', isStream: true });
    expect(textOf(seen)).toBe('well said');
  });

  test('is put together where one answer was asked for', async () => {
    await using scene = await open(answerFrames(frames), seats);
    const seen = await ask(scene.rig);
    expect(textOf(seen)).toBe('well said');
    expect(scene.cloud.calls[0]?.headers.accept).toBe('application/json');
  });

  test('keeps a plain answer unchanged', async () => {
    await using scene = await open(answerPlain, seats);
    expect(textOf(await ask(scene.rig, { isStream: true }))).toBe('well said');
  });

  test.each([
    ['is cut in the middle of a frame', frames.subarray(0, 60)],
    ['has an absurd length', Buffer.from([0x7f, 0xff, 0xff, 0xff, 1])],
  ])('fails the attempt if it %s', async (_what, bytes) => {
    await using scene = await open(answerFrames(bytes), seats, {}, ({ baseUrl }) => [
      { baseUrl: baseUrl.replace('/base', '/other'), providerEntry: { type: cloudType } },
    ]);
    const seen = await ask(scene.rig, { isStream: true });
    expect(seen.status).toBe(502);
    expect(scene.rig.records.map(({ outcome }) => outcome)).toEqual(['failed', 'failed']);
  });
});
