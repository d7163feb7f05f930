// What does `--help` say? What a program does, how it is started, and the variables that it reads.

interface Help {
  /** How it is started, a line each. */
  readonly usage: readonly string[];
  /** One sentence. */
  readonly does: string;
  /** Environment variables, with a remark where one helps. */
  readonly variables: readonly string[];
}

function describeHelp({ usage, does, variables }: Help): string {
  const [first = '', ...rest] = usage;
  return `usage: ${[first, ...rest.map((line) => `       ${line}`)].join('\n')}

${does}

Settings, from the environment:
${variables.map((line) => `  ${line}`).join('\n')}
`;
}

/** @returns whether the arguments ask for help, and it was printed. A reader that has gone, as in `--help | head -1`, is no failure. */
export function helpIfAsked(help: Help, words: readonly string[] = process.argv.slice(2)): boolean {
  if (!words.includes('--help') && !words.includes('-h')) return false;
  process.stdout.on('error', () => {});
  process.stdout.write(describeHelp(help));
  return true;
}
