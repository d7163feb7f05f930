// What can be asked of a model? One row for each operation: in which dialects, and where. What an operation does is in its folder of
// `gateway/operations`.

import {
  type DialectName,
  dialectNames,
  UPSTREAM_DIALECTS,
  type UpstreamDialectName,
  upstreamDialectNames,
} from './dialects.ts';

interface Row {
  /** Its `gen_ai.operation.name` in traces; absent: that of the dialect. */
  readonly conventionName?: string;
  /** In each dialect that has it: the path after a base URL that ends in `/v1`. */
  readonly paths: Readonly<Partial<Record<UpstreamDialectName, string>>>;
  /** The dialects in which clients can ask the gateway for it, at the same paths. */
  readonly clients: readonly DialectName[];
}

const rows = {
  generate: {
    paths: Object.fromEntries(upstreamDialectNames.map((name) => [name, UPSTREAM_DIALECTS[name].path])),
    clients: dialectNames,
  },
  'count-tokens': {
    conventionName: 'count_tokens',
    paths: {
      'anthropic-messages': '/messages/count_tokens',
      'openai-responses': '/responses/input_tokens',
      'google-generate-content': '/countTokens',
    },
    clients: ['anthropic-messages'],
  },
} satisfies Record<string, Row>;

export type OperationName = keyof typeof rows;

export const OPERATIONS: Readonly<Record<OperationName, Row>> = rows;
