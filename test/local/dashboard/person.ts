// Somebody at the dashboard of local mode: a browser that has opened the printed link, as far as HTTP goes.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../support/until.ts';
import { copyQuickstart, type LocalRig, makePages, type RigOptions, startLocalRig } from '../rig.ts';

export interface Person {
  /** Of the dashboard. */
  readonly url: string;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reported>;
  /** Below Kubernetes' own paths. */
  kube(method: string, path: string, body?: unknown): Promise<Reported>;
  /** Events of a watch, until the signal. */
  watch(
    search: string,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly event: string; readonly data: KubeChange }>;
}

export interface KubeChange {
  readonly type?: string;
  readonly object?: KubeBody;
}

export interface Reported {
  readonly status: number;
  readonly body: KubeBody;
}

export interface KubeBody {
  readonly kind?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly metadata: {
    readonly name: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly [field: string]: unknown;
  };
  readonly items: readonly KubeBody[];
  readonly status: {
    readonly observedGeneration: number;
    readonly state?: string;
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
  readonly [field: string]: unknown;
}

export const group = '/apis/penstock.dev/v1alpha1';

/** With pages, and the quickstart manifests. */
export function startDashboardRig(options: RigOptions = {}): Promise<LocalRig> {
  return startLocalRig({
    ...options,
    async prepare(folders, upstream) {
      await makePages(folders);
      await (options.prepare?.(folders, upstream) ?? copyQuickstart(folders, upstream.port));
    },
  });
}

export function conditionOf({ status }: KubeBody, type: string) {
  return status.conditions.find((one) => one.type === type);
}

/** The object once a condition of its present form is so. */
export function settled(
  person: Pick<Person, 'kube'>,
  path: string,
  is: readonly [type: string, status: string] = ['Programmed', 'True'],
): Promise<KubeBody> {
  return until(async () => {
    const { body } = await person.kube('GET', path);
    const isJudged = body.status?.observedGeneration === body.metadata.generation;
    return isJudged && conditionOf(body, is[0])?.status === is[1] && body;
  });
}

/** All manifests by the names of their files, so that it can be seen that none was touched. */
export async function readAll({ manifests }: Pick<LocalRig, 'manifests'>): Promise<Record<string, string>> {
  const names = (await readdir(manifests)).sort();
  const read = async (name: string) => [name, await readFile(join(manifests, name), 'utf8')] as const;
  return Object.fromEntries(await Promise.all(names.map(read)));
}

/** Every link that was printed, in order. */
export function printedLinks({ printed }: LocalRig): readonly string[] {
  return printed.flatMap((line) => line.match(/http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+/g) ?? []);
}

export async function openLink(
  link: string,
): Promise<{ readonly status: number; readonly body: Record<string, unknown>; readonly cookie: string }> {
  const [url = '', token = ''] = link.split('/#token=');
  const answer = await fetch(`${url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ token }),
  });
  const cookie = answer.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ');
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown>, cookie };
}

export async function signIn(rig: LocalRig): Promise<Person> {
  const link = printedLinks(rig).at(-1) ?? '';
  const [url = ''] = link.split('/#');
  const { status, body: session, cookie } = await openLink(link);
  if (status !== 200) throw new Error(`the link was answered with ${status}`);
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        cookie,
        origin: url,
        'x-penstock-csrf': String(session.csrf),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const ask: Person['ask'] = async (...question) => {
    const answer = await send(...question);
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as KubeBody };
  };
  return {
    url,
    ask,
    kube: (method, path, body) => ask(method, `/api/kube${path}`, body),
    async *watch(search, signal) {
      const answer = await fetch(`${url}/api/watch${search}`, { headers: { cookie }, signal });
      let text = '';
      for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
          const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(text.slice(0, end)) ?? [];
          text = text.slice(end + 2);
          if (event !== undefined) yield { event, data: JSON.parse(data ?? '{}') as KubeChange };
        }
      }
    },
  };
}
