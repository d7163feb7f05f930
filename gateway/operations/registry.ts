// Which operations are there, and where are they asked for? A new operation is a row of the catalogue, a folder and a line here.

import { OPERATIONS, type OperationName } from '../../core/catalog/operations.ts';
import { findDialect } from '../dialects/registry.ts';
import { countTokens } from './count-tokens/index.ts';
import { generate } from './generate/index.ts';
import type { Operation, OperationEndpoint } from './operation.ts';

const operations: Readonly<Record<OperationName, Operation>> = { generate, 'count-tokens': countTokens };

export function operationEndpoints(): readonly OperationEndpoint[] {
  return Object.values(operations).flatMap((operation) => {
    const { clients, paths } = OPERATIONS[operation.name];
    return clients.flatMap((client) => {
      const path = paths[client];
      return path === undefined ? [] : [{ operation, dialect: findDialect(client), path }];
    });
  });
}
