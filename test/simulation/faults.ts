// Would it be noticed? Each of these breaks one promise on purpose, from outside: a client that forgets a precondition, a holder that
// takes anything. A simulation that does not find them proves nothing.

import { hash } from 'node:crypto';
import { POINTER_DATA } from '../../core/contract/manifest.ts';
import { READER_FORMAT } from '../../core/contract/routing-table.ts';
import { type KubeClient, KubeError, type KubeRequest } from '../../core/kube/client.ts';
import { isRecord } from '../../core/kube/object.ts';
import { TableHolder } from '../../gateway/table/holder.ts';
import { compareVersions } from '../../gateway/table/version.ts';
import type { TableView } from '../../gateway/table/view.ts';
import { ACCEPT_ABSENCE_ANNOTATION } from '../../operator/publish/pointer-holder.ts';
import { withPieces } from './pieces.ts';
import type { Fault } from './run.ts';
import { isShardPath, POINTER_PATH, TABLE_NAMESPACE } from './settings.ts';

export interface NamedFault extends Fault {
  readonly name: string;
  /** A seed from which on it is found soon; any other does too. */
  readonly from: number;
  /** The promise that is broken, as the judge calls it. */
  readonly broken: RegExp;
}

type Send = (request: KubeRequest) => Promise<unknown>;

function changing(
  client: KubeClient,
  call: (request: KubeRequest, send: Send) => Promise<unknown>,
): KubeClient {
  return { ...client, call: (request) => call(request, client.call) };
}

const isPointerWrite = ({ method, path }: KubeRequest): boolean => method === 'PUT' && path === POINTER_PATH;
const isNewShard = ({ method, body }: KubeRequest): boolean =>
  method === 'POST' && isRecord(body) && body.immutable === true;

/** As if nothing had been seen before. */
function withoutVersion(request: KubeRequest): KubeRequest {
  const { body } = request;
  if (!isRecord(body) || !isRecord(body.metadata)) return request;
  const { resourceVersion: _, ...metadata } = body.metadata;
  return { ...request, body: { ...body, metadata } };
}

/** The manifest in the body of a pointer, changed; with the digest that fits. */
function withManifest(body: unknown, change: (manifest: Record<string, unknown>) => object): unknown {
  if (!isRecord(body) || !isRecord(body.data)) return body;
  const plain = Buffer.from(String(body.data[POINTER_DATA.manifest] ?? ''), 'base64').toString();
  const manifest: unknown = plain === '' ? undefined : JSON.parse(plain);
  if (!isRecord(manifest)) return body;
  const text = JSON.stringify(change(manifest));
  const encode = (value: string): string => Buffer.from(value).toString('base64');
  const data = {
    ...body.data,
    [POINTER_DATA.manifest]: encode(text),
    [POINTER_DATA.manifestSha256]: encode(hash('sha256', text)),
  };
  return { ...body, data };
}

export const faults: readonly NamedFault[] = [
  {
    name: 'the pointer is written without compare-and-swap',
    from: 84,
    broken: /^I[1234]/,
    changeOperator: (client) =>
      changing(client, (request, send) => send(isPointerWrite(request) ? withoutVersion(request) : request)),
  },
  {
    name: 'the loser of a compare-and-swap writes again',
    from: 84,
    broken: /^I[34]/,
    changeOperator: (client) =>
      changing(client, (request, send) =>
        send(request).catch((error: unknown) => {
          const isLost = error instanceof KubeError && error.status === 409 && isPointerWrite(request);
          return isLost ? send(withoutVersion(request)) : Promise.reject(error);
        }),
      ),
  },
  {
    name: 'the pointer is written before the shards',
    from: 1,
    broken: /^I1/,
    changeOperator(client, process) {
      return changing(client, async (request, send) => {
        if (!isNewShard(request)) return await send(request);
        process.after(2_000, () => void send(request).catch(() => {}));
        return request.body;
      });
    },
  },
  {
    name: 'the manifest names no revocations',
    from: 20,
    broken: /^I7/,
    changeOperator: (client) =>
      changing(client, (request, send) => {
        const { body } = request;
        if (!isPointerWrite(request)) return send(request);
        return send({
          ...request,
          body: withManifest(body, (manifest) => ({ ...manifest, revocations: [] })),
        });
      }),
  },
  {
    name: 'shards are collected as soon as no table names them',
    from: 10,
    broken: /^I5/,
    changeOperator(client, process) {
      let named = '';
      return changing(client, async (request, send) => {
        const answer = await send(request);
        if (isPointerWrite(request) && isRecord(request.body) && isRecord(request.body.data)) {
          named = Buffer.from(String(request.body.data[POINTER_DATA.manifest]), 'base64').toString();
        }
        if (
          request.method === 'POST' &&
          isNewShard(request) &&
          isRecord(answer) &&
          isRecord(answer.metadata)
        ) {
          const name = String(answer.metadata.name);
          const path = `/api/v1/namespaces/${TABLE_NAMESPACE}/secrets/${name}`;
          process.after(20_000, () => {
            if (isShardPath(path) && !named.includes(name))
              void send({ method: 'DELETE', path }).catch(() => {});
          });
        }
        return answer;
      });
    },
  },
  {
    name: 'absence is accepted without anybody having said so',
    from: 8,
    needsManyKeys: true,
    broken: /^I6/,
    changeOperator(client) {
      let answers = 0;
      return changing(client, async (request, send) => {
        const answer = await send(request);
        if (request.path !== POINTER_PATH || !isRecord(answer) || !isRecord(answer.metadata)) return answer;
        // Accepted once, it is over; so it is taken back and said again.
        answers += 1;
        const annotations = answers % 2 === 0 ? {} : { [ACCEPT_ABSENCE_ANNOTATION]: 'true' };
        return { ...answer, metadata: { ...answer.metadata, annotations } };
      });
    },
  },
  {
    name: 'a gateway goes back to an older table',
    from: 219,
    broken: /^I[23]/,
    makeHolder: () => new CarelessHolder(),
  },
  {
    name: 'a gateway applies half a table',
    from: 1,
    broken: /^I1/,
    makeHolder: () => new HalfHolder(),
  },
  {
    name: 'a gateway takes a format that it does not know',
    from: 480,
    broken: /^I1, I8/,
    changeGateway(client) {
      const pretend = (text: string): string =>
        text.replace(
          /("manifest":")([^"]*)(","manifestSha256":")([^"]*)/,
          (whole, start, manifest, middle) => {
            const plain = Buffer.from(manifest, 'base64').toString();
            const tooNew = `"minReader":${READER_FORMAT + 1}`;
            if (!plain.includes(tooNew)) return whole;
            const known = plain.replace(tooNew, '"minReader":1');
            const encode = (value: string): string => Buffer.from(value).toString('base64');
            return `${start}${encode(known)}${middle}${encode(hash('sha256', known))}`;
          },
        );
      return {
        ...client,
        stream: withPieces(client, (piece) => Buffer.from(pretend(piece.toString()))),
      };
    },
  },
  {
    name: 'a pod is taken to run what another one runs',
    from: 175,
    broken: /^Programmed/,
    changeAskPod(ask) {
      let newest = { epoch: 0, generation: 0 };
      return (pod, token, body, timeoutMs) => {
        const call = ask(pod, token, body, timeoutMs);
        const answer = call.answer.then((response) => {
          const { table } = response;
          if (table === undefined) return response;
          if (compareVersions(table, newest) > 0) newest = table;
          const { epoch, generation } = newest;
          return { ...response, table: { ...table, epoch, generation } };
        });
        return { ...call, answer };
      };
    },
  },
];

/** Each table is the first that it has seen. */
class CarelessHolder extends TableHolder {
  private last = new TableHolder();
  private readonly reported: ((view: TableView) => void)[] = [];

  override current(): TableView | undefined {
    const view = this.last.current();
    // The table in use is reported as older than any.
    return view === undefined ? undefined : { ...view, epoch: 0, generation: 0 };
  }

  override offer(view: TableView) {
    this.last = new TableHolder();
    for (const listener of this.reported) this.last.onSwap(listener);
    return this.last.offer(view);
  }

  override revoke(digestBeginnings: readonly string[]): number {
    return this.last.revoke(digestBeginnings);
  }

  override onSwap(listener: (view: TableView) => void): () => void {
    this.reported.push(listener);
    return () => {};
  }
}

class HalfHolder extends TableHolder {
  override offer(view: TableView) {
    const [, ...routes] = view.routes;
    return super.offer(view.generation % 5 === 0 ? { ...view, routes } : view);
  }
}
