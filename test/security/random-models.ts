// Does what callers ask for grow what a gateway exports? Requests for models that nobody has, each another, and for paths that are none.

import { Pool } from 'undici';
import { startRig, tableOf, testKey } from '../gateway/rig.ts';
import { createRandom, pick, type Random } from './random.ts';
import { plainAnswers, plainAsks, startRecordingUpstream } from './recording-upstream.ts';

export interface RandomModelsRun {
  readonly asked: number;
  readonly seriesBefore: number;
  readonly seriesAfter: number;
  /** Whether any of the names is in what is exported. */
  readonly isNameShown: boolean;
}

export async function runRandomModels(asked: number, seed: number): Promise<RandomModelsRun> {
  const random = createRandom(seed);
  const upstream = await startRecordingUpstream(() => ({
    body: JSON.stringify(plainAnswers['openai-chat']),
  }));
  const rig = await startRig(tableOf([{ baseUrl: `http://127.0.0.1:${upstream.port}/v1` }]));
  const client = new Pool(rig.url, { connections: 8 });
  const ask = async (model: string, path = '/v1/chat/completions'): Promise<void> => {
    const answer = await client.request({
      method: 'POST',
      path,
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...plainAsks['openai-chat'] }),
    });
    await answer.body.dump();
  };
  const exported = async (): Promise<readonly string[]> => {
    const text = await (await fetch(`${rig.gateway.metricsUrl}/metrics`)).text();
    return text.split('\n').filter((line) => /^penstock_/.test(line));
  };
  try {
    await ask('m');
    await ask('unknown');
    await ask('m', '/v1/nothing');
    const before = await exported();
    for (let sent = 0; sent < asked; sent += 8) {
      const names = Array.from({ length: Math.min(8, asked - sent) }, () => modelName(random));
      await Promise.all(
        names.map((name, index) => ask(name, index === 7 ? `/v1/${encodeURIComponent(name)}` : undefined)),
      );
    }
    await ask('m');
    const after = await exported();
    return {
      asked,
      seriesBefore: before.length,
      seriesAfter: after.length,
      isNameShown: after.some((line) => line.includes(nameMark)),
    };
  } finally {
    await client.close();
    await rig.close();
    await upstream.close();
  }
}

const nameMark = 'asked-for';

function modelName(random: Random): string {
  const odd = pick(random, ['', '"', '\\', '\n', '{', '}', '/', ' ', '\u0000', 'é', '../', '%0a', '=']);
  return `${nameMark}${odd}${random(2 ** 40)}`;
}
