// Editors, `cp`, `>` and generators save a file in place: they empty it and write it again. Before, a reading in between took half of a
// file, or nothing of it, for the whole: of 73 tables five had 99 of 100 models.

import { mkdir, open, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openObjects } from '../../local/dashboard/objects.ts';
import { createDeployer } from '../../local/deploy.ts';
import { openKeyStore } from '../../local/key-store.ts';
import { createManifestReader, type ManifestReader } from '../../local/manifest-reader.ts';
import { type Manifests, noManifests } from '../../local/manifests.ts';
import { type Folders, makeFolders, startLocalRig } from './rig.ts';

const one = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: one }\ndata: { a: b }\n';
const two = one.replace('name: one', 'name: two');
const namesIn = ({ configMaps }: Manifests) => configMaps.map(({ name }) => name);

let folders: Folders;
beforeEach(async () => {
  folders = await makeFolders();
});
afterEach(() => folders.remove());

describe('reading a file that is being saved', () => {
  let path: string;
  let nowMs: number;
  let reader: ManifestReader;
  let lookedAgain: number;

  /** Lets time pass since the last save. */
  const passSince = async (ms: number): Promise<void> => {
    nowMs = (await stat(path)).mtimeMs + ms;
  };

  beforeEach(async () => {
    path = join(folders.manifests, 'both.yaml');
    lookedAgain = 0;
    await writeFile(path, `${one}---\n${two}`);
    await passSince(60_000);
    reader = createManifestReader(folders.manifests, { now: () => nowMs, wallMs: () => nowMs }, () => {
      lookedAgain += 1;
    });
    expect(namesIn(await reader.now())).toEqual(['one', 'two']);
  });

  test('that is empty counts its last content, and is asked for again', async () => {
    await truncate(path);
    await passSince(200);
    expect(namesIn(await reader.now())).toEqual(['one', 'two']);
    expect(lookedAgain).toBe(1);
    await writeFile(path, one);
    await passSince(200);
    const { notes, ...manifests } = await reader.now();
    expect(namesIn({ notes, ...manifests })).toEqual(['one']);
    expect({ notes, lookedAgain }).toEqual({ notes: [], lookedAgain: 1 });
  });

  test('that has half of its content so far counts its last content, and is asked for again', async () => {
    await using file = await open(path, 'w');
    await file.write(one);
    await passSince(10);
    expect(namesIn(await reader.now())).toEqual(['one', 'two']);
    expect(lookedAgain).toBe(1);
    await file.write(`---\n${two.replace('two', 'three')}`);
    await passSince(60);
    expect(namesIn(await reader.now())).toEqual(['one', 'three']);
    expect(lookedAgain).toBe(1);
  });

  test('whose time is still to come counts its new content', async () => {
    await writeFile(path, one);
    await passSince(-300_000);
    expect(namesIn(await reader.now())).toEqual(['one']);
    expect(lookedAgain).toBe(0);
  });

  test('that took the place of another in one step counts at once', async () => {
    await folders.write('both.yaml', two);
    await passSince(1);
    expect(namesIn(await reader.now())).toEqual(['two']);
    expect(lookedAgain).toBe(0);
  });

  test('a change by the dashboard is judged with the last whole content too', async () => {
    await truncate(path);
    await passSince(1);
    const after = await reader.after({ file: 'other.yaml', content: two.replace('two', 'three') });
    expect(namesIn(after)).toEqual(['one', 'two', 'three']);
  });

  test.each([
    ['empty', ''],
    ['nothing but comments', '# later\n---\n'],
  ])('that stays %s is reported, and has no objects', async (_what, content) => {
    await writeFile(path, content);
    await passSince(60);
    await reader.now();
    await passSince(600);
    const manifests = await reader.now();
    expect(namesIn(manifests)).toEqual([]);
    expect(manifests.notes).toEqual([
      {
        place: 'both.yaml',
        id: 'both.yaml emptied',
        text: 'is empty now, so its objects are removed; write objects into the file, or delete it',
      },
    ]);
    await writeFile(path, one);
    await passSince(60);
    expect((await reader.now()).notes).toEqual([]);
  });

  test('that was empty from the start is not reported', async () => {
    await writeFile(join(folders.manifests, 'empty.yaml'), '');
    const manifests = await reader.now();
    expect({ names: namesIn(manifests), notes: manifests.notes, lookedAgain }).toEqual({
      names: ['one', 'two'],
      notes: [],
      lookedAgain: 0,
    });
  });

  test('in many writes never sees a part of it', async () => {
    const whole = Array.from({ length: 40 }, (_, index) => one.replace('one', `n${index}`)).join('---\n');
    await writeFile(path, whole);
    const live = createManifestReader(folders.manifests, {
      now: () => performance.now(),
      wallMs: () => Date.now(),
    });
    await live.now();
    const counts = new Set<number>();
    let isWriting = true;
    const reading = (async () => {
      while (isWriting) counts.add((await live.now()).configMaps.length);
    })();
    for (let round = 0; round < 30; round += 1) {
      await using file = await open(path, 'w');
      for (let at = 0; at < whole.length; at += 500) await file.write(whole.slice(at, at + 500));
    }
    isWriting = false;
    await reading;
    expect([...counts]).toEqual([40]);
  });
});

test('a file that is emptied is reported in the terminal, and its models end after a moment', async () => {
  const local = await startLocalRig();
  try {
    await truncate(join(local.manifests, 'routes.yaml'));
    expect(await local.next(/^note/)).toBe(
      'note     routes.yaml: is empty now, so its objects are removed; write objects into the file, or delete it',
    );
    expect(await local.next(/^Live/)).toMatch(/^Live: generation 2, 0 models\./);
  } finally {
    await local.close();
  }
});

describe('of a folder in which one file changes', () => {
  const route = (name: string) => `apiVersion: penstock.dev/v1alpha1
kind: ModelRoute
metadata: { name: ${name} }
spec:
  model: penstock/${name}
  targets: [{ name: main, providerRef: { name: far }, upstreamModel: m }]
`;
  const provider = `apiVersion: v1
kind: Secret
metadata: { name: far, labels: { penstock.dev/provider-credential: "true" }, annotations: { penstock.dev/allowed-hosts: models.example } }
stringData: { key: sk-test }
---
apiVersion: penstock.dev/v1alpha1
kind: Provider
metadata: { name: far }
spec:
  type: OpenAICompatible
  apis: [ChatCompletions]
  baseURL: https://models.example/v1
  auth: { keys: [{ name: main, secretRef: { name: far, key: key } }] }
---
apiVersion: penstock.dev/v1alpha1
kind: ApiKey
metadata: { name: key }
spec: {}
`;

  test('the others are not parsed again, and their objects are not compiled again', async () => {
    const long = new Date(Date.now() - 60_000);
    const write = async (name: string, content: string): Promise<void> => {
      await writeFile(join(folders.manifests, name), content);
      await utimes(join(folders.manifests, name), long, long);
    };
    await write('a.yaml', route('a'));
    await write('b.yaml', route('b'));
    await write('provider.yaml', provider);
    await mkdir(folders.state, { recursive: true });
    const reader = createManifestReader(folders.manifests, {
      now: () => performance.now(),
      wallMs: () => Date.now(),
    });
    const objects = openObjects(noManifests, () => 0);
    const deployer = createDeployer({
      keyStore: await openKeyStore(folders.state),
      wallMs: () => 0,
      baseUrl: 'http://127.0.0.1/v1',
      prepare: (manifests) => manifests,
      offer: () => {},
    });
    const deploy = async () => {
      const manifests = objects.take(await reader.now());
      const { verdicts, problems, outcome } = await deployer.deploy(manifests);
      return {
        places: manifests.places,
        problems,
        outcome,
        verdicts: new Map(verdicts.map((v) => [`${v.kind} ${v.name}`, v])),
      };
    };
    const before = await deploy();
    expect(before.problems).toEqual([]);
    await write('a.yaml', route('a').replace('upstreamModel: m', 'upstreamModel: n'));
    const after = await deploy();
    expect(after.outcome).toBe('in-use');
    const same = (of: 'verdicts' | 'places') =>
      [...after[of].keys()].filter((id) => after[of].get(id) === before[of].get(id)).sort();
    expect(same('places')).toEqual([
      'ApiKey default/key',
      'ModelRoute default/b',
      'Provider default/far',
      'Secret default/far',
    ]);
    expect(same('verdicts')).toEqual(['ApiKey key', 'ModelRoute b', 'Provider far']);
  });
});
