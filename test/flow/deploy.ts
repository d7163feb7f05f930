// From manifests to answers: the operator's own compile, its table in a running gateway, real HTTP in front.

import { createHash } from 'node:crypto';
import type { CompileResult } from '../../operator/compile/compile.ts';
import { createCompiler } from '../../operator/compile/compile.ts';
import type { PlatformSettings, RawObject, SecretRecord, Snapshot } from '../../operator/watch/snapshot.ts';
import { type Rig, startRig } from '../gateway/rig.ts';
import * as make from '../operator/make.ts';
import { rawCall } from '../support/raw-client.ts';
import { portOf, type Seen } from './ask.ts';

export interface Stage {
  readonly rig: Rig;
  /** What the compile said about the manifests in use. */
  result(): CompileResult;
  /** Other manifests instead. */
  deploy(parts: Partial<Snapshot>): CompileResult;
  close(): Promise<void>;
}

/** Loopback, where the walls of the tests stand, is open to these namespaces and to no other. */
export function platformWith(...namespaces: string[]): PlatformSettings {
  return { ...make.PLATFORM, egressAllow: [{ cidr: '127.0.0.0/8', namespaces }] };
}

export async function startStage(parts: Partial<Snapshot>): Promise<Stage> {
  const compile = createCompiler();
  const rig = await startRig(undefined);
  let result: CompileResult | undefined;
  const deploy = (next: Partial<Snapshot>): CompileResult => {
    result = compile(make.snapshot(next), Date.now());
    rig.offer(result.table);
    return result;
  };
  deploy(parts);
  return {
    rig,
    deploy,
    result() {
      if (result === undefined) throw new Error('nothing has been deployed');
      return result;
    },
    close: () => rig.close(),
  };
}

/** A key of the usual shape, another one for every name. */
export function keyOf(name: string): string {
  return `psk_${createHash('sha256').update(name).digest('hex').slice(0, 49)}`;
}

/** The ApiKey `bot` of a namespace, whose key is `keyOf(namespace)`. */
export function apiKeyOf(namespace: string, spec: object = {}): RawObject {
  const sha256 = createHash('sha256').update(keyOf(namespace)).digest('hex');
  return make.apiKey({ imports: [{ sha256 }], ...spec }, { namespace });
}

/** What a namespace's Secret `openai` holds. */
export function credentialOf(namespace: string): string {
  return `sk-of-${namespace}`;
}

/** The Secret `openai` of a namespace, shared to its Providers for one host. */
export function secretOf(namespace: string, baseUrl: string, more: Partial<SecretRecord> = {}): SecretRecord {
  return make.secret({
    namespace,
    annotations: { 'penstock.dev/allowed-hosts': new URL(baseUrl).host },
    data: { key: credentialOf(namespace) },
    ...more,
  });
}

/** The Provider `openai` of a namespace, at that address. */
export function providerOf(namespace: string, baseURL: string, spec: object = {}): RawObject {
  return make.provider(
    { type: 'OpenAICompatible', baseURL, apis: ['ChatCompletions', 'Completions'], ...spec },
    { namespace },
  );
}

/** A route called as the model is, which tells the upstream its own id: the wall's log then says who asked for what. */
export function routeOf(namespace: string, name: string, model: string, spec: object = {}): RawObject {
  const targets = [make.target({ upstreamModel: `${namespace}.${name}` })];
  return make.route({ model, targets, ...spec }, { namespace, name });
}

export type Door = 'list' | 'retrieve' | 'chat' | 'chat stream' | 'completions' | 'completions stream';
export const callDoors = ['chat', 'chat stream', 'completions', 'completions stream'] as const;

/** Knocks at one of the service's doors, with or without a key. */
export function knock(rig: Rig, door: Door, model: string, key: string | undefined): Promise<Seen> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const stream = door.endsWith('stream') ? { stream: true } : {};
  switch (door) {
    case 'list':
      return rawCall({ port: portOf(rig) }, { path: '/v1/models', headers });
    case 'retrieve':
      return rawCall({ port: portOf(rig) }, { path: `/v1/models/${encodeURIComponent(model)}`, headers });
    case 'chat':
    case 'chat stream': {
      const body = { model, messages: [{ role: 'user', content: 'three plain words' }], ...stream };
      return rawCall({ port: portOf(rig) }, { path: '/v1/chat/completions', headers, body });
    }
    case 'completions':
    case 'completions stream': {
      const body = { model, prompt: 'three plain words', max_tokens: 64, ...stream };
      return rawCall({ port: portOf(rig) }, { path: '/v1/completions', headers, body });
    }
  }
}

/** The ids of a model list, in its order. */
export function idsOf(list: Seen): unknown[] {
  const { json } = list;
  if (typeof json !== 'object' || json === null || !('data' in json) || !Array.isArray(json.data)) {
    throw new Error(`not a model list: ${list.text}`);
  }
  return json.data.map((entry: { id?: unknown }) => entry.id);
}
