// Which safeguards of the routing table and its leader are noticed when they are gone?

import type { Mutant } from '../../../mutants/mutant.ts';

export const table: readonly Mutant[] = [
  {
    name: 'routes of one tenant that ask for the same are not compared with each other',
    file: 'operator/compile/checks/model-conflict.ts',
    from: 'const own = nearest && meets(nearest) ? nearest : undefined;',
    to: 'const own = this.byNamespace.get(claim.namespace)?.get(id)?.find((one) => isOther(one) && meets(one));',
    tests: ['test/operator/compile/many-conflicts.test.ts'],
  },
  {
    name: 'routes that are shared with the same namespace compete for ids',
    file: 'operator/compile/checks/model-conflict.ts',
    from: 'const isShared = claim.sharedWith.length > 0;',
    to: 'const isShared = false;',
    tests: ['test/operator/compile/many-conflicts.test.ts', 'test/operator/compile/model-conflict.test.ts'],
  },
  {
    name: 'a table sets no header by which one message could be read as two',
    file: 'gateway/table/view.ts',
    from: 'if (framing !== undefined) {',
    to: 'if (false) {',
    tests: ['test/gateway/table/table-view.test.ts'],
  },
];
