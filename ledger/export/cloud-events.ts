// Exports a record as a CloudEvents 1.0 event, identified by `id` and `source` together.

import { z } from 'zod';

export const BATCH_TYPE = 'application/cloudevents-batch+json; charset=utf-8';
const EVENT_TYPE = 'dev.penstock.attempt.v1';

const factsSchema = z.looseObject({ id: z.string(), startedAt: z.string(), apiKey: z.string() });

/** The same for all events of an installation, on every transport, so that consumers can deduplicate. */
export function sourceOf({
  namespace,
  instance,
}: {
  readonly namespace: string;
  readonly instance: string;
}): string {
  return `urn:penstock:${namespace}:${instance}`;
}

/** The `id` of the event of a record. @param line As gateways wrote it. */
export function idOf(line: string): string {
  return factsSchema.parse(JSON.parse(line)).id;
}

/**
 * @param lines Records as gateways wrote them; they are the events' data, whole.
 * @param source Names the installation.
 */
export function buildBatch(lines: readonly string[], source: string): string {
  return JSON.stringify(
    lines.map((line) => {
      const data = factsSchema.parse(JSON.parse(line));
      return {
        specversion: '1.0',
        id: data.id,
        source,
        type: EVENT_TYPE,
        time: data.startedAt,
        subject: data.apiKey,
        datacontenttype: 'application/json',
        data,
      };
    }),
  );
}
