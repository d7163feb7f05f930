// Which formats can records be exported in? One row each: the pieces of a file, in order.

import { allRecords } from '../all-records.ts';
import type { Filter, LedgerStore } from '../store/store.ts';
import { buildBatch } from './cloud-events.ts';
import { focusCsv } from './focus.ts';

interface ExportQuery {
  /** Days, UTC; `to` is the first one that is left out. */
  readonly from: string;
  readonly to: string;
  readonly where: Filter;
  /** Name of the installation. */
  readonly account: string;
  /** Of events. */
  readonly source: string;
}

type Format = (store: LedgerStore, query: ExportQuery) => AsyncIterable<string>;

const rows = {
  jsonl: recordLines,
  focus: focusCsv,
  cloudevents: eventBatches,
} satisfies Record<string, Format>;

export type ExportFormat = keyof typeof rows;

export const EXPORT_FORMATS: Readonly<Record<ExportFormat, Format>> = rows;

export const exportFormats: readonly ExportFormat[] = Object.keys(rows).filter(isExportFormat);

function isExportFormat(name: string): name is ExportFormat {
  return Object.hasOwn(rows, name);
}

async function* recordLines(store: LedgerStore, query: ExportQuery): AsyncGenerator<string> {
  for await (const { line } of allRecords(store, query)) yield `${line}\n`;
}

const batchRecords = 100;

async function* eventBatches(store: LedgerStore, query: ExportQuery): AsyncGenerator<string> {
  let batch: string[] = [];
  for await (const { line } of allRecords(store, query)) {
    batch.push(line);
    if (batch.length < batchRecords) continue;
    yield `${buildBatch(batch, query.source)}\n`;
    batch = [];
  }
  if (batch.length > 0) yield `${buildBatch(batch, query.source)}\n`;
}
