// Does an upstream read the same model out of a body as the gateway did? Bodies with repeated members, odd escapes and odd numbers,
// sent through a gateway; what arrives is read by parsers of other makes, one of which tells every member that is there twice.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bearer } from '../../gateway/endpoints/ask.ts';
import { startRig, tableOf } from '../../gateway/rig.ts';
import { createRandom, pick, type Random } from '../../security/random.ts';
import { plainAnswers, startRecordingUpstream } from '../../security/recording-upstream.ts';
import { pythonWith, runPython } from '../../support/python.ts';
import { rawCall } from '../../support/raw-client.ts';

export interface TwoReadings {
  readonly sent: number;
  /** Bodies that were passed on. */
  readonly passed: number;
  /** Of them, those in which anybody could read another model than the one that was looked up. */
  readonly disputed: readonly string[];
  /** Numbers that arrived in other digits than they were sent in. */
  readonly changedNumbers: number;
}

/** Prints, for each line, every value of a top-level member called model, first to last. */
const readers = `
import json, sys
for line in open(sys.argv[1], encoding='utf-8'):
    pairs = json.loads(line, object_pairs_hook=lambda pairs: pairs)
    print(json.dumps([value for name, value in pairs if name == 'model']))
`;

const names = [
  '"model"',
  '"mod\\u0065l"',
  '"\\u006d\\u006f\\u0064\\u0065\\u006c"',
  '"Model"',
  '"model "',
  '"x"',
] as const;
const numbers = [
  '12345678901234567890',
  '1e400',
  '-0',
  '1.0',
  '0.1000000000000000055',
  '1E5',
  '9007199254740993',
] as const;

export async function runTwoReadings(bodies: number, seed: number): Promise<TwoReadings> {
  const random = createRandom(seed);
  const upstream = await startRecordingUpstream(() => ({
    body: JSON.stringify(plainAnswers['openai-chat']),
  }));
  const rig = await startRig(
    tableOf([{ baseUrl: `http://127.0.0.1:${upstream.port}/v1`, upstreamModel: 'served' }]),
  );
  const folder = await mkdtemp(join(tmpdir(), 'penstock-readings-'));
  let changedNumbers = 0;
  try {
    for (let sent = 0; sent < bodies; sent++) {
      const number = pick(random, numbers);
      const body = bodyOf(random, number);
      const before = upstream.requests.length;
      await rawCall(
        { port: Number(new URL(rig.url).port) },
        { method: 'POST', path: '/v1/chat/completions', headers: bearer, body },
      );
      const [received] = upstream.requests.slice(before);
      if (received && !received.body.includes(`"n0":${number}`)) changedNumbers++;
    }
    const passed = upstream.requests.map((request) => request.body.replaceAll(/[\r\n]/g, ' '));
    const file = join(folder, 'bodies');
    await writeFile(file, passed.join('\n'));
    const { stdout, stderr, exitCode } = await runPython(await pythonWith([]), readers, { args: [file] });
    if (exitCode !== 0) throw new Error(`Python could not read the bodies: ${stderr}`);
    const read = stdout.trim().split('\n');
    const disputed = passed.filter((body, index) => {
      const here: unknown = JSON.parse(body);
      const isHere = typeof here === 'object' && here !== null && 'model' in here && here.model === 'served';
      return !isHere || read[index] !== '["served"]';
    });
    return { sent: bodies, passed: passed.length, disputed, changedNumbers };
  } finally {
    await rig.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function bodyOf(random: Random, number: string): string {
  const blank = pick(random, ['', ' ', '\t', '\n', '']);
  const members = [
    `"messages":[{"role":"user","content":"x \\"model\\":\\"y\\""}]`,
    `"n0":${number}`,
    ...Array.from({ length: 1 + random(3) }, () => `${pick(random, names)}${blank}:${blank}"m"`),
    ...(random(3) === 0 ? ['"metadata":{"model":"other"}'] : []),
    ...(random(4) === 0 ? [`${pick(random, names)}:"other"`] : []),
  ];
  const shuffled = members.map((member) => ({ member, at: random(1_000) })).toSorted((a, b) => a.at - b.at);
  return `{${blank}${shuffled.map(({ member }) => member).join(`${blank},`)}${blank}}`;
}
