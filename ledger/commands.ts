// What can be done with a ledger by hand? Beside the process that serves it, or on a copy of its file.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { ledgerRecordSchema } from '../core/contract/ledger-record.ts';
import { backUp, type Imported, importFile } from './backup.ts';
import { EXPORT_FORMATS, type ExportFormat, exportFormats } from './export/formats.ts';
import { usdOf } from './money.ts';
import { readPrices } from './prices/read-prices.ts';
import { type Payer, type Rerated, rerate } from './prices/rerate.ts';
import type { StorePlace } from './settings.ts';
import { copyIn } from './store/copy.ts';
import type { Filter, LedgerStore } from './store/store.ts';

interface CommandParts {
  /** Where the ledger is. */
  place(): StorePlace;
  open(): Promise<LedgerStore>;
  wallMs(): number;
  /** Source of the CloudEvents that the ledger sends; undefined if it sends none. */
  readonly source: string | undefined;
  /** Takes text; settled when there is room for more. */
  write(text: string): Promise<void>;
}

const formatRule = `must be ${exportFormats.slice(0, -1).join(', ')} or ${exportFormats.at(-1)}`;

/** Each is started with `node dist/ledger.js`, in the clone with `npm run ledger --`. */
export const COMMANDS = [
  'node dist/ledger.js                         serve; in a clone: npm run ledger -- [command]',
  `node dist/ledger.js export --format ${exportFormats.join('|')} --from 2026-11-01 --to 2026-12-01`,
  'node dist/ledger.js rerate --prices prices.json --from 2026-11-01 --to 2026-12-01 [--json]',
  'node dist/ledger.js backup --to folder [--keep 7]',
  'node dist/ledger.js restore --from file     everything, into an empty ledger',
  'node dist/ledger.js import --from file      missing records, from a backup or the file of another ledger',
  '',
  'export and rerate: --from is the first day, --to the day after the last, both UTC. Filters: --namespace, --apiKey,',
  '--route, --provider, --model, --payer tenant|platform|own-key (rerate: tenant, unless given).',
];

const USAGE = `usage: ${COMMANDS.join('\n       ')}
`;

/** A fault in the arguments of a command; its message is for the user. */
class UsageError extends Error {}

const PAYERS = ledgerRecordSchema.shape.payer.options;
const day = z.iso.date({
  error: ({ input }) =>
    input === undefined
      ? 'is missing; add --from with the first day and --to with the day after the last, such as --from 2026-11-01 --to 2026-12-01'
      : 'must be a day such as 2026-11-01',
});
const optionsSchema = z
  .strictObject({
    from: day,
    to: day,
    format: z.enum(exportFormats, formatRule).optional(),
    prices: z.string().min(1).optional(),
    json: z.boolean().optional(),
    account: z.string().min(1).optional(),
    namespace: z.string().optional(),
    apiKey: z.string().optional(),
    route: z.string().optional(),
    provider: z.string().optional(),
    model: z.string().optional(),
    payer: z.enum(PAYERS, 'must be tenant, platform or own-key').optional(),
  })
  .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be after from' });
type Options = z.infer<typeof optionsSchema>;

/** @throws {UsageError} and what the store throws. */
export async function runCommand(words: readonly string[], parts: CommandParts): Promise<void> {
  const [command, ...rest] = words;
  if (command === 'backup' || command === 'restore' || command === 'import') {
    await runCopy(command, rest, parts);
    return;
  }
  if (command !== 'export' && command !== 'rerate')
    throw new UsageError(`${command}: unknown command\n${USAGE}`);
  const options = readOptions(rest);
  const { format } = options;
  if (command === 'export' && format === undefined) throw new UsageError(`--format: ${formatRule}`);
  if (command === 'rerate' && options.prices === undefined)
    throw new UsageError('--prices: must name a file of prices, or - for standard input');
  // Before the store is opened, so that faults are reported at once.
  const prices = options.prices === undefined ? undefined : readPrices(readText(options.prices));
  const store = await parts.open();
  try {
    if (prices !== undefined) {
      const { keptFrom } = await store.state();
      // For all payers, to report what is missing from the sums.
      const rows = await rerate(store, periodOf({ ...options, payer: undefined }), prices);
      await parts.write(describe(rows, options, keptFrom > options.from ? keptFrom : undefined));
    } else if (format !== undefined) await writeExport(store, format, options, parts);
  } finally {
    await store.close();
  }
}

async function runCopy(
  command: 'backup' | 'restore' | 'import',
  words: readonly string[],
  { place, open, wallMs, write }: CommandParts,
): Promise<void> {
  const text = { type: 'string' } as const;
  if (command === 'backup') {
    const { to, keep } = parseWords(words, { to: text, keep: text });
    if (to === undefined) throw new UsageError('--to: must name a folder');
    if (keep !== undefined && !/^[1-9]\d{0,3}$/.test(String(keep)))
      throw new UsageError('--keep: must be a number of backups from 1 to 9999');
    const path = await backUp(place(), String(to), wallMs(), keep === undefined ? undefined : Number(keep));
    await write(`${path}\n`);
    return;
  }
  const { from } = parseWords(words, { from: text });
  if (from === undefined) throw new UsageError('--from: must name a file');
  if (command === 'restore') {
    await copyIn(String(from), place());
    await write('Restored everything.\n');
    return;
  }
  const imported = await importFile(String(from), place(), open, wallMs());
  await write(imported === undefined ? 'Imported everything.\n' : describeImported(imported));
}

function describeImported({ added, duplicates, asides, sumsFrom }: Imported): string {
  const lines = [`${added} records were added, ${duplicates} were there already, ${asides} were put aside.`];
  if (sumsFrom !== undefined)
    lines.push(
      `Sums of days before ${sumsFrom}, whose records have gone, were left out: only a ledger that is empty takes them over.`,
    );
  return `${lines.join('\n')}\n`;
}

function readOptions(words: readonly string[]): Options {
  const text = { type: 'string' } as const;
  const names = [
    ...['from', 'to', 'format', 'prices', 'account'],
    ...['namespace', 'apiKey', 'route', 'provider', 'model', 'payer'],
  ];
  const values = parseWords(words, {
    ...Object.fromEntries(names.map((name) => [name, text])),
    json: { type: 'boolean' },
  });
  // Without a prototype as it comes, which zod takes for no plain object.
  const parsed = optionsSchema.safeParse({ ...values });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`--${issue?.path.join('.')}: ${issue?.message}`);
}

function parseWords(
  words: readonly string[],
  options: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>,
): Record<string, unknown> {
  try {
    return parseArgs({ args: [...words], options, strict: true }).values;
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
}

function periodOf({ from, to, ...options }: Options): { from: string; to: string; where: Filter } {
  const names = ['namespace', 'apiKey', 'route', 'provider', 'model', 'payer'] as const;
  const where = Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
  return { from, to, where };
}

function readText(path: string): string {
  // The descriptor of standard input.
  return readFileSync(path === '-' ? 0 : path, 'utf8');
}

async function writeExport(
  store: LedgerStore,
  format: ExportFormat,
  options: Options,
  parts: CommandParts,
): Promise<void> {
  const { account = 'penstock' } = options;
  const ofAccount = `urn:penstock:${account}`;
  const source = options.account === undefined ? (parts.source ?? ofAccount) : ofAccount;
  for await (const piece of EXPORT_FORMATS[format](store, { ...periodOf(options), account, source }))
    await parts.write(piece);
}

const paidWords: Readonly<Record<Payer, string>> = {
  tenant: 'that tenants pay are in neither sum',
  platform:
    'that failed before anything was delivered are in neither sum: the platform pays them, not the tenant',
  'own-key': 'at providers that tenants have themselves are in neither sum',
};

function attemptsOf(rows: readonly Rerated[]): number {
  return rows.reduce((sum, { attempts }) => sum + attempts, 0);
}

/** @param keptFrom The day from which on there are records, where some of the period may have gone. */
function describe(
  all: readonly Rerated[],
  { json = false, payer = 'tenant' }: Options,
  keptFrom: string | undefined,
): string {
  const rows = all.filter((row) => row.payer === payer);
  const left = PAYERS.filter((other) => other !== payer).flatMap((other) => {
    const attempts = attemptsOf(all.filter((row) => row.payer === other));
    return attempts === 0 ? [] : [{ payer: other, attempts }];
  });
  const sum = (of: (row: Rerated) => bigint): bigint => rows.reduce((whole, row) => whole + of(row), 0n);
  const total = {
    old: sum(({ oldPicodollars }) => oldPicodollars),
    new: sum(({ newPicodollars }) => newPicodollars),
  };
  const money = (before: bigint, after: bigint) => ({
    oldUsd: usdOf(before),
    newUsd: usdOf(after),
    differenceUsd: usdOf(after - before),
  });
  if (json) {
    const models = rows.map(({ oldPicodollars, newPicodollars, ...row }) => ({
      ...row,
      ...money(oldPicodollars, newPicodollars),
    }));
    return `${JSON.stringify({ payer, models, total: money(total.old, total.new), left, keptFrom }, undefined, 2)}\n`;
  }
  const table = [
    ['MODEL', 'ATTEMPTS', 'OLD USD', 'NEW USD', 'DIFFERENCE'],
    ...rows.map((row) => {
      const { oldUsd, newUsd, differenceUsd } = money(row.oldPicodollars, row.newPicodollars);
      return [
        row.model,
        String(row.attempts),
        oldUsd,
        row.isRepriced ? newUsd : 'no other price',
        differenceUsd,
      ];
    }),
    ['TOTAL', String(attemptsOf(rows)), ...Object.values(money(total.old, total.new))],
  ];
  const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  );
  const unpriced = rows.reduce((whole, row) => whole + row.unpriced, 0);
  if (unpriced > 0) lines.push(`${unpriced} attempts had no price and count as 0 in the old sum.`);
  for (const { payer: other, attempts } of left)
    lines.push(`${attempts} attempts ${paidWords[other]}; --payer ${other} prints theirs.`);
  if (keptFrom !== undefined)
    lines.push(`Records of days before ${keptFrom} may have gone; what they cost is in neither sum.`);
  return `${lines.join('\n')}\n`;
}
