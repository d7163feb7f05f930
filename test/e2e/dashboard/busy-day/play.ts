// Plays the calls of a scene at a gateway, and keeps what callers saw.

import { importedKey } from '../../../flow/cluster/manifests.ts';
import type { Call } from './scene.ts';

export interface Heard extends Call {
  readonly status: number;
  /** Header `x-request-id`. */
  readonly requestId: string;
}

/** @param atOnce Calls in flight. */
export async function play(
  gatewayUrl: string,
  calls: readonly Call[],
  atOnce = 4,
): Promise<readonly Heard[]> {
  const heard: Heard[] = [];
  const left = [...calls];
  const caller = async () => {
    for (let call = left.shift(); call !== undefined; call = left.shift())
      heard.push({ ...call, ...(await ask(gatewayUrl, call)) });
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  return heard;
}

async function ask(
  gatewayUrl: string,
  { key, model, stream }: Call,
): Promise<Pick<Heard, 'status' | 'requestId'>> {
  const bearer = key === undefined ? `psk_${'0'.repeat(49)}` : secretOf(key);
  const answer = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Three plain words.' }] }),
  });
  await answer.arrayBuffer();
  return { status: answer.status, requestId: answer.headers.get('x-request-id') ?? '' };
}

const secretOf = (key: string) =>
  key === 'team-b' ? importedKey('team-b', 'other') : importedKey('team-a', key);
