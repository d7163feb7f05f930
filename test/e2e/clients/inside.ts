// What happens when a client does one piece of work through the gateway? Runs inside the sandbox: simulator, gateway,
// recorder, name server and client, and then the facts.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { snippetsFor } from '../../../dashboard/pages/keys/snippets.ts';
import { startEveryUpstream, type Upstream } from '../../conformance/every-upstream.ts';
import { testKey } from '../../gateway/rig.ts';
import { bareEnvironment } from '../../support/bare-environment.ts';
import { startNameServer } from './name-server.ts';
import { type Recorded, startRecorder } from './recorder.ts';

export interface Errand {
  readonly client: 'codex' | 'claude-code';
  readonly binary: string;
  readonly upstream: Upstream;
  /** A model that the client knows by its name; absent: one that it has never heard of. */
  readonly knownModel?: string | undefined;
  /** The upstream's first answer breaks off in its middle. */
  readonly isBroken?: boolean | undefined;
}

export interface Facts {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What the tool wrote; null where it never ran. */
  readonly marker: string | null;
  readonly requests: readonly Recorded[];
  readonly upstreamCalls: readonly { readonly endpoint: string; readonly ending: string | null }[];
  readonly upstreamBodies: readonly unknown[];
  readonly namesLookedUp: readonly string[];
  /** Folders of this run, and what they are. */
  readonly places: Readonly<Record<string, string>>;
}

const command = 'echo the tool ran | tee marker.txt';

/** The tool of each client that runs a command, and what to give it. */
function commandTool({ client, upstream, knownModel }: Errand): { name: string; args: string } {
  if (client === 'claude-code')
    return { name: 'Bash', args: JSON.stringify({ command, description: 'A mark' }) };
  if (knownModel === undefined) return { name: 'exec_command', args: JSON.stringify({ cmd: command }) };
  // For the models it knows, one tool that takes a program; elsewhere than in its own dialect that is an argument.
  const input = `text(await tools.exec_command({ cmd: "${command}" }));`;
  return { name: 'exec', args: upstream === 'responses' ? input : JSON.stringify({ input }) };
}

const reportedTo = { codex: codexTurns, 'claude-code': claudeCodeTurns };

const [inputPath = '', outputPath = ''] = process.argv.slice(2);
const errand: Errand = JSON.parse(await readFile(inputPath, 'utf8'));
await writeFile(outputPath, JSON.stringify(await runErrand(errand)));

async function runErrand(errand: Errand): Promise<Facts> {
  const { client, upstream, knownModel, isBroken } = errand;
  const folder = await mkdtemp(join(tmpdir(), 'penstock-errand-'));
  const home = await mkdtemp(join(tmpdir(), 'penstock-home-'));
  const names = await startNameServer();
  const stage = await startEveryUpstream(knownModel === undefined ? {} : { [upstream]: knownModel });
  const recorder = await startRecorder(stage.url);
  const tool = commandTool(errand);
  // So little thought that it does not depend on the names of folders.
  const fault = isBroken ? ',fault=cut-after:3,once' : '';
  stage.script(upstream, `reasoning=8,tool=${tool.name},args=${encodeURIComponent(tool.args)}${fault}`);
  const reported = reportedTo[client](home);
  const programs = await mkdtemp(join(tmpdir(), 'penstock-programs-'));
  const model = knownModel ?? stage.model(upstream);
  const { text, env } = await snippetOf(errand, recorder.url, model, programs, reported);
  const ended = await run('sh', ['-c', text], folder, {
    ...bareEnvironment(),
    HOME: home,
    ...reported.env,
    ...env,
  });
  const calls = stage.newCalls(upstream);
  const facts: Facts = {
    ...ended,
    places: { [folder]: '<folder>', [home]: '<home>' },
    marker: await readFile(join(folder, 'marker.txt'), 'utf8').catch(() => null),
    requests: recorder.requests,
    upstreamCalls: calls.map(({ endpoint, ending }) => ({ endpoint, ending })),
    upstreamBodies: calls.map(({ body }) => body),
    namesLookedUp: names.names,
  };
  recorder.close();
  names.close();
  await stage.close();
  for (const each of [folder, home, programs]) await rm(each, { recursive: true, force: true });
  return facts;
}

/** What a client is given beside its snippet: after its own arguments, and before its task. */
interface Reported {
  readonly env: Readonly<Record<string, string>>;
  readonly before: readonly string[];
  readonly behind: readonly string[];
}

function codexTurns(home: string): Reported {
  const before = ['exec', '--json', '--ephemeral', '--skip-git-repo-check'];
  before.push('--dangerously-bypass-approvals-and-sandbox', '-c', 'web_search="disabled"');
  before.push('-c', 'check_for_update_on_startup=false', '-c', 'analytics.enabled=false');
  before.push('--disable', 'plugins', '--disable', 'apps');
  return { env: { CODEX_HOME: home }, before, behind: ['Leave a mark.'] };
}

function claudeCodeTurns(home: string): Reported {
  const env = {
    CLAUDE_CONFIG_DIR: home,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: '1',
    // The sandbox makes everybody root.
    IS_SANDBOX: '1',
  };
  const behind = ['-p', 'Leave a mark.', '--tools', 'Bash', '--output-format', 'stream-json'];
  behind.push('--verbose', '--dangerously-skip-permissions');
  return { env, before: [], behind };
}

/** The text that people paste, as a script; the program that it calls is first on the path, and is given more than the snippet says. */
async function snippetOf(
  { client, binary }: Errand,
  url: string,
  model: string,
  folder: string,
  reported: Reported,
) {
  const text = snippetsFor(url, testKey, model).find(({ id }) => id === client)?.text ?? '';
  const name = client === 'codex' ? 'codex' : 'claude';
  const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');
  const program = `exec '${binary}' ${quoted(reported.before)} "$@" ${quoted(reported.behind)}`;
  await writeFile(join(folder, name), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
  return { text, env: { PATH: `${folder}:${bareEnvironment().PATH}` } };
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<Pick<Facts, 'exitCode' | 'stdout' | 'stderr'>> {
  return new Promise((resolve) => {
    const child = execFile(
      command,
      [...args],
      { cwd, env, timeout: 180_000, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => resolve({ exitCode: child.exitCode, stdout, stderr }),
    );
    // Codex waits for more input as long as there may be some.
    child.stdin?.end();
  });
}
