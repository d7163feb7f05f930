// How does Kubernetes answer for one person? With that person's token on every call: this server itself has no rights.

import { readFile } from 'node:fs/promises';
import type { Clock } from '../../core/clock.ts';
import { KubeError } from '../../core/kube/client.ts';
import { type Authenticator, type KubeConnection, openConnection } from '../../core/kube/connection.ts';
import {
  type Cluster,
  type ClusterAnswer,
  ClusterAway,
  type ClusterCall,
  failureAnswer,
} from '../cluster.ts';
import { watchCollection } from './watch.ts';

interface KubernetesOptions {
  readonly url: string;
  /** Read again now and then, as it is renewed. Undefined: what the system trusts. */
  readonly caFile: string | undefined;
  readonly clock: Clock;
}

/** All persons together; more of them wait. */
const callsMax = 128;
const timeoutMs = 20_000;
/** A page of five hundred objects. */
const answerBytesMax = 16 * 2 ** 20;
const caKeptMs = 60_000;
/** In place of what the API server says of a path that it does not know, which is no JSON. */
const kindsMissing = failureAnswer(
  404,
  'NotFound',
  'Kubernetes does not know Penstock’s kinds: install their CustomResourceDefinitions, which come with the chart.',
);

export function openKubernetes(options: KubernetesOptions): KubeConnection {
  return openConnection({
    server: options.url,
    callsMax,
    bodyBytesMax: answerBytesMax,
    ...(options.caFile === undefined ? {} : { authenticator: trustOf(options.caFile, options.clock) }),
  });
}

export function clusterFor(connection: KubeConnection, token: string, clock: Clock): Cluster {
  return {
    call: (call) => callKubernetes(connection, token, call),
    watch: (path, signal, from) => watchCollection({ connection, token, clock, path, signal, from }),
  };
}

/** @throws {ClusterAway} */
export async function callKubernetes(
  connection: KubeConnection,
  token: string,
  { method, path, query, body, contentType }: ClusterCall,
): Promise<ClusterAnswer> {
  try {
    const answer = await connection.ask({
      method,
      path,
      timeoutMs,
      bearer: token,
      ...(query === undefined ? {} : { query }),
      ...(body === undefined ? {} : { body }),
      ...(contentType === undefined ? {} : { contentType }),
    });
    if (answer.status === 0) throw new ClusterAway('no answer');
    return answer;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.status === 404) return kindsMissing;
    throw new ClusterAway(error.message);
  }
}

/** Only the CA that verifies the API server: no credentials. */
function trustOf(caFile: string, clock: Clock): Authenticator {
  let kept: { readonly ca: Buffer; readonly atMs: number } | undefined;
  return {
    async credentials() {
      if (kept === undefined || clock.now() - kept.atMs >= caKeptMs)
        kept = { ca: await readFile(caFile), atMs: clock.now() };
      return { tls: { ca: kept.ca } };
    },
    refused() {},
  };
}
