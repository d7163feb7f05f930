// 100,000 spellings of addresses, each with a connection: those that lead inside by any reading are dialled for real if the guard lets
// them, and a server listens on every address of this machine; all others are only written down. And what a library of another
// language says of each.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dialByTcp } from '../../../core/egress/dial.ts';
import { connectTo, makeConnector } from '../../core/egress/connect-to.ts';
import { listenTcp } from '../../core/egress/listen.ts';
import { nextSpelling, opened, readBack } from '../../core/egress/spellings.ts';
import { createRandom } from '../../security/random.ts';
import { pythonWith, runPython } from '../../support/python.ts';

export interface AddressRun {
  readonly tried: number;
  /** Spellings of addresses that must not be reached. */
  readonly forbidden: number;
  /** Of them, those that were dialled. */
  readonly dialled: readonly string[];
  /** How many of all others were: nobody would see the ones above if dialling went another way. */
  readonly dialledOutside: number;
  /** Connections that the servers on this machine saw. */
  readonly reached: number;
  /** Addresses that the other library calls internal, and that were let through. */
  readonly disputed: readonly string[];
  /** How many of the addresses it calls internal. */
  readonly internalElsewhere: number;
}

/** Says for each number whether an address is for everybody on the internet. */
const judge = `
import ipaddress, sys
def inside(a):
    if a.version == 6:
        for other in (a.ipv4_mapped, a.sixtofour, a.teredo[1] if a.teredo else None):
            if other is not None: return True
    return not a.is_global or a.is_multicast or a.is_reserved or a.is_loopback or a.is_link_local
for line in open(sys.argv[1]):
    kind, number = line.split()
    a = (ipaddress.IPv4Address if kind == '4' else ipaddress.IPv6Address)(int(number))
    print('inside' if inside(a) else 'outside')
`;

export async function runAddresses(tries: number, seed: number): Promise<AddressRun> {
  const random = createRandom(seed);
  const servers = [await listenTcp('0.0.0.0'), await listenTcp('::')];
  const dialled: string[] = [];
  const outcomes: {
    readonly text: string;
    readonly value: bigint;
    readonly isV4: boolean;
    readonly isLet: boolean;
  }[] = [];
  let forbidden = 0;
  let dialledOutside = 0;
  let current = { text: '', isForbidden: false };
  const connector = makeConnector({
    allow: [{ cidr: opened, namespaces: ['team-a'] }],
    connectTimeoutMs: 1_000,
    dial: (options) => {
      if (!current.isForbidden) {
        dialledOutside++;
        return refusingSocket();
      }
      dialled.push(`${current.text} as ${options.host}`);
      return dialByTcp(options);
    },
  });
  try {
    for (let run = 0; run < tries; run++) {
      const { value, isV4, text, expected } = nextSpelling(random);
      current = { text, isForbidden: expected === 'denied' };
      if (current.isForbidden) forbidden++;
      const port = servers[run % servers.length]?.port ?? 0;
      const ended = await connectTo(connector, `http://${text}:${port}`).then(
        (socket) => {
          socket.destroy();
          return 'connected';
        },
        (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown'),
      );
      const isLet = ended !== 'egress_denied';
      outcomes.push({ text, value, isV4, isLet });
    }
    const verdicts = await judgeElsewhere(outcomes);
    const disputed = outcomes
      .filter(
        ({ isLet, value, isV4 }, index) => isLet && verdicts[index] === 'inside' && !isOpened(value, isV4),
      )
      .map(({ text }) => text);
    return {
      tried: tries,
      forbidden,
      dialled,
      dialledOutside,
      reached: servers.reduce((sum, { connections }) => sum + connections, 0),
      disputed,
      internalElsewhere: verdicts.filter((verdict) => verdict === 'inside').length,
    };
  } finally {
    for (const server of servers) await server.close();
  }
}

async function judgeElsewhere(
  outcomes: readonly { readonly value: bigint; readonly isV4: boolean }[],
): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-addresses-'));
  try {
    const file = join(folder, 'addresses');
    await writeFile(file, outcomes.map(({ value, isV4 }) => `${isV4 ? 4 : 6} ${value}`).join('\n'));
    const { stdout, stderr, exitCode } = await runPython(await pythonWith([]), judge, { args: [file] });
    if (exitCode !== 0) throw new Error(`Python could not judge the addresses: ${stderr}`);
    return stdout.trim().split('\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** 10.20.0.0/16, which the platform has opened. */
function isOpened(value: bigint, isV4: boolean): boolean {
  return isV4 && value >> 16n === readBack('10.20.0.0') >> 16n;
}

function refusingSocket(): Socket {
  return new Socket().destroy(Object.assign(new Error('not dialled'), { code: 'ECONNREFUSED' }));
}
