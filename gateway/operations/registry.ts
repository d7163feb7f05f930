// Which operations are there, and where are they asked for? A new operation is a folder and a line here.

import { dialectNames } from '../../core/catalog/dialects.ts';
import { findDialect } from '../dialects/registry.ts';
import { countTokens } from './count-tokens/index.ts';
import { generate } from './generate/index.ts';
import type { Operation, OperationEndpoint } from './operation.ts';

const operations: readonly Operation[] = [generate, countTokens];

export function operationEndpoints(): readonly OperationEndpoint[] {
  return operations.flatMap((operation) =>
    dialectNames.map(findDialect).flatMap((dialect) => {
      const path = operation.pathIn(dialect);
      return path === undefined ? [] : [{ operation, dialect, path }];
    }),
  );
}
