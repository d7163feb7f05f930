// Which pitfalls show only where a real client speaks to a real server?

import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { findDialect } from '../../../../gateway/dialects/registry.ts';
import { startSimulator } from '../../../../simulator/server.ts';
import { openRaw, writeRequest } from '../../../support/raw-client.ts';
import { startWall } from '../../../support/wall.ts';
import { type Answered, bearer, portOf, post, recordOf } from '../../endpoints/ask.ts';
import { type Served, serveFrom } from '../../endpoints/served.ts';
import { keyEntry, startRig, tableOf, testKey } from '../../rig.ts';
import { look, type Members, plainQuestions } from '../support/askings.ts';
import { all } from '../support/tellings.ts';
import { C, everyPair, expectErrorLast, M, T } from './whole-way.ts';

const pathOf = (client: DialectName): string => `/v1${findDialect(client).path}`;

const errorIn = (answer: Answered): Members => recordOf(recordOf(answer.json).error);

/** Every client has its own shape of error body. */
function expectOwnShape(client: DialectName, answer: Answered): void {
  expect(recordOf(answer.json).type).toBe(client === M ? 'error' : undefined);
  expect(errorIn(answer).message).toEqual(expect.any(String));
}

describe('over HTTP', () => {
  /** A gateway before a simulator of this dialect, which learns what to do. */
  async function having(
    upstream: DialectName,
    directives: string,
    look: (served: Served) => Promise<void>,
  ): Promise<void> {
    const served = await serveFrom(upstream);
    if (directives !== '') served.simulator.script('sim-small', directives);
    try {
      await look(served);
    } finally {
      await served.close();
    }
  }

  const ask = ({ rig }: Served, client: DialectName, more: Members = {}): Promise<Answered> =>
    post(rig, pathOf(client), { ...plainQuestions[client], ...more });

  test.each(
    all.flatMap((upstream) => ['cut-after:2', 'reset-after:2'].map((fault) => [upstream, fault] as const)),
  )('11: %s broken by %s ends the stream of every client in its own way', async (upstream, fault) => {
    await having(upstream, `tokens=20,fault=${fault}`, async (served) => {
      for (const client of all) {
        const answer = await ask(served, client, { stream: true });
        expect([client, answer.status]).toEqual([client, 200]);
        expectErrorLast(client, answer.text);
      }
    });
  });

  test('23: the ping of a messages upstream goes on to a chat client as a comment', async () => {
    await having(M, '', async (served) => {
      const { events } = await ask(served, C, { stream: true });
      expect(events.map(({ type }) => type)).toContain('comment');
    });
  });

  test.each(all)(
    '23: a client of %s is kept alive while a messages upstream says nothing',
    async (client) => {
      const simulator = await startSimulator();
      const target = { baseUrl: `${simulator.url}/v1`, dialects: [M], upstreamModel: 'sim-small+fault=hang' };
      const table = tableOf([{ ...target, providerEntry: { dialects: [M] } }]);
      const rig = await startRig(table, { openAfterMs: 1, keepAliveMs: 1 });
      const connection = await openRaw({ port: portOf(rig) });
      try {
        const body = { ...plainQuestions[client], stream: true };
        await connection.send(writeRequest({ path: pathOf(client), headers: bearer, body }));
        const answer = await connection.answer();
        for (const _ of [1, 2]) {
          const sign = await answer.nextEvent();
          expect(client === M ? sign?.name : sign?.type).toBe(client === M ? 'ping' : 'comment');
        }
      } finally {
        connection.close();
        await rig.close();
        await simulator.close();
      }
    },
  );

  test.each(all)(
    '24: a compressed error of an upstream is plain to a client of %s, and says so',
    async (client) => {
      const body = gzipSync('{"error":{"message":"too hot","type":"x","param":null,"code":null}}');
      const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`;
      const bytes = Buffer.concat([Buffer.from(head), body]);
      const wall = await startWall({ type: 'raw', bytes, followedBy: 'keep-alive' });
      const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
      try {
        const answer = await post(rig, pathOf(client), plainQuestions[client]);
        expect([answer.status, answer.headers['content-encoding']]).toEqual([400, undefined]);
        expect(Number(answer.headers['content-length'])).toBe(answer.body.length);
        expectOwnShape(client, answer);
      } finally {
        await rig.close();
        await wall.close();
      }
    },
  );

  test.each(all)(
    '25: our own refusals of what %s asks have one message, whatever the upstream speaks',
    async (client) => {
      const reported = new Set<unknown>();
      for (const upstream of all) {
        await having(upstream, '', async (served) => {
          const missing = await ask(served, client, { model: 'gone' });
          const wrong = await ask(served, client, { temperature: 'hot' });
          expect([missing.status, wrong.status]).toEqual([404, 400]);
          for (const answer of [missing, wrong]) expectOwnShape(client, answer);
          reported.add(`${errorIn(missing).message} ${errorIn(wrong).message}`);
        });
      }
      expect([...reported]).toEqual([expect.stringMatching(/'gone'.*'temperature'/)]);
    },
  );

  test('25: a field that cannot be translated is refused with our own message', async () => {
    await having(M, '', async (served) => {
      const answer = await ask(served, C, { n: 2 });
      expect(answer.status).toBe(400);
      expect(errorIn(answer)).toMatchObject({
        code: 'unsupported_parameter',
        param: 'n',
        message: expect.stringMatching(/^'n' cannot be carried/),
      });
    });
  });

  test.each(all)(
    '62: every key may count tokens, and prose is not counted too low where %s is spoken',
    async (upstream) => {
      const other = `psk_${'z'.repeat(49)}`;
      const messages = [{ role: 'user', content: 'What is the weather in Zürich, 苏黎世 😀? '.repeat(50) }];
      const question = { model: 'm', messages, ...(upstream === T ? {} : { tools: [look[M]] }) };
      const count = async ({ rig }: Served, headers: Readonly<Record<string, string>>): Promise<number> => {
        const answer = await post(rig, '/v1/messages/count_tokens', question, headers);
        expect(answer.status).toBe(200);
        return Number(recordOf(answer.json).input_tokens);
      };
      let least = 0;
      await having(M, '', async (served) => {
        least = await count(served, bearer);
        expect(least).toBeGreaterThan(500);
      });
      await having(upstream, '', async (served) => {
        served.rig.offer({ keys: [keyEntry(testKey, 'team/key'), keyEntry(other, 'team/other')] });
        for (const headers of [bearer, { authorization: `Bearer ${other}` }, { 'x-api-key': other }]) {
          expect(await count(served, headers)).toBeGreaterThanOrEqual(least);
        }
      });
    },
  );

  test.each(
    all.flatMap((upstream) =>
      ['html', 'garbage-at:1', 'truncated', 'empty'].map((fault) => [upstream, fault] as const),
    ),
  )('64: an answer of %s that is no JSON (%s) is 502 for every client', async (upstream, fault) => {
    await having(upstream, `fault=${fault}`, async (served) => {
      for (const client of all) {
        const answer = await ask(served, client);
        expect([client, answer.status]).toEqual([client, 502]);
        expectOwnShape(client, answer);
      }
    });
  });

  test.each(everyPair)(
    '64: a request of %s that is no JSON is 400, whatever %s would say',
    async (client, upstream) => {
      await having(upstream, '', async ({ rig, simulator }) => {
        for (const body of ['{', '[]', '', 'model=m']) {
          const answer = await post(rig, pathOf(client), body);
          expect([body, answer.status]).toEqual([body, 400]);
          expectOwnShape(client, answer);
        }
        expect(simulator.calls()).toHaveLength(0);
      });
    },
  );

  test.each(all)(
    '64: a request of %s in an encoding or of a type that we do not read is 415',
    async (client) => {
      await having(client, '', async ({ rig, simulator }) => {
        const headers = [
          { 'content-encoding': 'gzip' },
          { 'content-type': 'application/json; charset=utf-16' },
          { 'content-type': 'text/plain' },
        ];
        for (const more of headers) {
          const answer = await post(rig, pathOf(client), plainQuestions[client], { ...bearer, ...more });
          expect([more, answer.status]).toEqual([more, 415]);
          expectOwnShape(client, answer);
        }
        expect(simulator.calls()).toHaveLength(0);
      });
    },
  );
});
