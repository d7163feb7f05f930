// Which safeguards of connections to the outside are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

export const egress: readonly Mutant[] = [
  {
    name: 'the guard judges an address that is written in the URL',
    file: 'egress/connect.ts',
    from: "if (host.kind === 'denied') throw refuse(endpoint, host);",
    to: '',
    tests: ['test/egress/guard.test.ts'],
  },
  {
    name: 'the guard judges every address that a name resolves to',
    file: 'egress/address-rules.ts',
    from: "if (verdict.kind === 'denied') {\n      return deny(verdict.reason,",
    to: "if (verdict.kind === 'denied') {\n      if (reachable.length > 0) continue;\n      return deny(verdict.reason,",
    tests: ['test/egress/guard.test.ts'],
  },
  {
    name: 'the guard judges the peer that a connection has ended up at',
    file: 'egress/connect.ts',
    from: 'checkPeer(endpoint, dialled.socket, dialled.address);',
    to: '',
    tests: ['test/egress/guard.test.ts'],
  },
  {
    name: 'what is opened is opened to its own namespaces only',
    file: 'egress/address-rules.ts',
    from: 'rules.allow.find((entry) => isFor(entry, namespace) && isIn(entry))',
    to: 'rules.allow.find((entry) => isIn(entry))',
    tests: ['test/egress/guard.test.ts'],
  },
  {
    name: 'addresses of cloud metadata can never be opened',
    file: 'egress/address-rules.ts',
    from: 'if (metadata !== undefined) {',
    to: 'if (metadata !== undefined && rules.allow.length === 0) {',
    tests: ['test/egress/guard.test.ts'],
  },
  {
    name: 'TLS: certificate and name of an upstream are verified',
    file: 'egress/secure.ts',
    from: 'rejectUnauthorized: trust.insecureSkipVerify !== true',
    to: 'rejectUnauthorized: false',
    tests: ['test/egress/tls.test.ts'],
  },
  {
    name: 'a redirect of an upstream is not followed',
    file: 'gateway/upstream/send.ts',
    from: 'request.pool.dispatch(',
    to: "request.pool.compose(process.getBuiltinModule('node:module').createRequire(import.meta.url)('undici').interceptors.redirect({ maxRedirections: 3 })).dispatch(",
    tests: ['test/flow/failover.test.ts'],
  },
  {
    name: 'names that are slow to look up leave threads to the others',
    file: 'egress/lookup-lanes.ts',
    from: 'if (running < doubtedMax)',
    to: 'if (running < Number.POSITIVE_INFINITY)',
    tests: ['test/egress/lookup-lanes.test.ts'],
  },
  {
    name: 'a name that has answered before is not behind all that never have',
    file: 'egress/lookup-lanes.ts',
    from: 'answered.has(name) ? 0 :',
    to: 'answered.size < 0 ? 0 :',
    tests: ['test/egress/lookup-lanes.test.ts'],
  },
  {
    name: 'a name that has missed once is not behind those that always do',
    file: 'egress/lookup-lanes.ts',
    from: '(doubted.get(name) ?? 0) + (answered',
    to: '(answered',
    tests: ['test/egress/lookup-lanes.test.ts'],
  },
  {
    name: 'a kept connection carries requests of the Provider it was opened for alone',
    file: 'gateway/upstream/pools.ts',
    from: 'provider.entry.id} ',
    to: 'provider.entry.baseUrl} ',
    tests: ['test/security/hardening.test.ts'],
  },
  {
    name: 'a name that was resolved for one connection is known to all',
    file: 'gateway/upstream/pools.ts',
    from: 'lastAnswers: this.lastAnswers,',
    to: '',
    tests: ['test/flow/resolver-down.test.ts'],
  },
  {
    name: 'an answer of the resolver serves for a minute when it is dead',
    file: 'egress/resolve.ts',
    from: 'last.missedSinceMs ??= nowMs()',
    to: 'last.missedSinceMs ??= 0',
    tests: ['test/egress/connecting.test.ts'],
  },
];
