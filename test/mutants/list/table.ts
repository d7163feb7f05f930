// Which safeguards of the routing table and its leader are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

export const table: readonly Mutant[] = [
  {
    name: 'routes of one tenant that ask for the same are not compared with each other',
    file: 'operator/compile/checks/model-conflict.ts',
    from: 'const own = nearest && meets(nearest) ? nearest : undefined;',
    to: 'const own = this.byNamespace.get(claim.namespace)?.get(id)?.find((one) => isOther(one) && meets(one));',
    tests: ['test/operator/compile/many-conflicts.test.ts'],
  },
  {
    name: 'who shares a route with others meets them at its ids',
    file: 'operator/compile/checks/model-conflict.ts',
    from: 'const isShared = claim.sharedWith.length > 0;',
    to: 'const isShared = false;',
    tests: ['test/operator/compile/many-conflicts.test.ts', 'test/operator/compile/model-conflict.test.ts'],
  },
  {
    name: 'compare-and-swap: a leader writes the pointer only over what it has seen',
    file: 'operator/publish/table-store.ts',
    from: 'const labelled = { ...metadata, labels:',
    to: 'const { resourceVersion: _seen, ...unseen } = metadata;\n      const labelled = { ...unseen, labels:',
    tests: ['test/simulation/every-promise-1.test.ts'],
  },
  {
    name: 'a leader that lost the pointer to another stops writing',
    file: 'operator/publish/pointer-holder.ts',
    from: 'if (late === undefined && !isAsLeft(found)) {',
    to: 'if (late !== undefined && !isAsLeft(found)) {',
    tests: ['test/operator/publish/publisher.test.ts'],
  },
  {
    name: 'a revocation goes ahead of the shards',
    file: 'operator/publish/publisher.ts',
    from: 'isNew && how.urgent === true && missing.length > SHARD_CALLS_AT_ONCE',
    to: 'isNew && missing.length < 0',
    tests: ['test/operator/publish/publisher.test.ts'],
  },
  {
    name: 'a mass of objects that nobody saw deleted is held',
    file: 'operator/hold/hold-absent.ts',
    from: 'if (absent.length < HELD_MIN || isAccepted)',
    to: 'if (absent.length < Infinity || isAccepted)',
    tests: ['test/operator/hold/hold-absent.test.ts'],
  },
  {
    name: 'a table never goes backwards',
    file: 'gateway/table/holder.ts',
    from: 'if (held && compareVersions(view, held) <= 0)',
    to: 'if (held && compareVersions(view, held) === 0)',
    tests: ['test/gateway/table/table-holder.test.ts'],
  },
  {
    name: 'a gateway takes no shard that is not what its digest says',
    file: 'gateway/table/sources/decode-shard.ts',
    from: "if (hash('sha256', plain, 'hex') !== ref.sha256) throw",
    to: 'if (plain.length < 0) throw',
    tests: ['test/gateway/table/shards.test.ts'],
  },
  {
    name: 'a gateway takes no manifest that is not what its digest says',
    file: 'gateway/table/sources/pointer.ts',
    from: "if (hash('sha256', text, 'hex') !== sha256) {",
    to: "if (sha256 === '') {",
    tests: ['test/gateway/table/secret-source.test.ts'],
  },
  {
    name: 'a key that was revoked is unknown before its shard has come',
    file: 'gateway/table/revocations.ts',
    from: 'for (const digest of revoked) keys.delete(digest);',
    to: '',
    tests: ['test/gateway/table/table-holder.test.ts'],
  },
  {
    name: 'a lease is held from when it was asked for, not from when the answer came',
    file: 'core/kube/lease.ts',
    from: 'function hold(sinceMs: number): void {',
    to: 'function hold(_: number): void {\n    const sinceMs = clock.now();',
    tests: ['test/core/kube/lease.test.ts'],
  },
  {
    name: 'a table sets no header by which one message could be read as two',
    file: 'gateway/table/view.ts',
    from: 'if (framing !== undefined) {',
    to: 'if (false) {',
    tests: ['test/gateway/table/table-view.test.ts'],
  },
];
