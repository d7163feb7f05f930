// Does the Dockerfile make the image that the packer makes? Its last stage, read line by line, against the table of both.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { image } from '../../../tools/pack/contents.ts';
import { root } from '../../architecture/project.ts';

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
const instructions = parseDockerfile(text);
const stages = stagesOf(instructions);
const last = stages.at(-1)?.instructions ?? [];
const said = (name: string) => last.filter((one) => one.name === name).map(({ rest }) => rest);

describe('the last stage of the Dockerfile', () => {
  test('copies exactly the files and folders of the table, from the stage that built them', () => {
    const copied = said('COPY').map((rest) => rest.split(' '));
    const target = `${image.folder}/dist/`;
    expect(copied).toEqual([
      ['--from=bundles', ...image.files.map((path) => `${image.folder}/${path}`), target],
      ...image.folders.map((path) => ['--from=bundles', ...Array(2).fill(`${image.folder}/${path}`)]),
      ['--from=compiled', image.compileCache, image.compileCache],
    ]);
  });

  test('has the same user, folder, entry point, environment and labels', () => {
    const { config } = image;
    expect({
      User: said('USER'),
      WorkingDir: said('WORKDIR'),
      Entrypoint: said('ENTRYPOINT').map((list): unknown => JSON.parse(list)),
      Cmd: said('CMD').map((list): unknown => JSON.parse(list)),
      Env: said('ENV').map(readPairs),
      Labels: said('LABEL').map(readPairs),
    }).toEqual({
      User: [config.User],
      WorkingDir: [config.WorkingDir],
      Entrypoint: [config.Entrypoint],
      Cmd: [config.Cmd],
      Env: [config.Env],
      Labels: [{ ...config.Labels, 'org.opencontainers.image.version': packageJson.version }],
    });
  });

  test('runs nothing and adds nothing else', () => {
    const known = ['COPY', 'USER', 'WORKDIR', 'ENTRYPOINT', 'CMD', 'ENV', 'LABEL'];
    expect(last.filter(({ name }) => !known.includes(name))).toEqual([]);
  });

  test('is on a base that can be chosen, by default the Node of this project', () => {
    const node = `node:${packageJson.devDependencies.node}-slim`;
    expect(stages.at(-1)?.base).toBe(['$', '{BASE}'].join(''));
    expect(instructions.filter(({ name }) => name === 'ARG').map(({ rest }) => rest)).toEqual([
      `BASE=${node}`,
      `BUILDER=${node}`,
      'BUNDLES=build',
    ]);
  });
});

function parseDockerfile(content: string): Instruction[] {
  return content
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...rest] = line.split(/\s+/);
      return { name, rest: rest.join(' ') };
    });
}

function stagesOf(all: readonly Instruction[]): { base: string; instructions: Instruction[] }[] {
  const found: { base: string; instructions: Instruction[] }[] = [];
  for (const instruction of all) {
    if (instruction.name === 'FROM') {
      found.push({ base: instruction.rest.split(' ')[0] ?? '', instructions: [] });
    } else found.at(-1)?.instructions.push(instruction);
  }
  return found;
}

/** `A=b C="d e"`. */
function readPairs(line: string): Record<string, string> {
  const pairs = line.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g);
  return Object.fromEntries([...pairs].map(([, name, quoted, bare]) => [name, quoted ?? bare]));
}
