// Which safeguards of the dashboard are noticed when they are gone?

import type { Mutant } from '../mutant.ts';

const cluster = ['test/dashboard/dashboard.test.ts'];
const guard = ['test/dashboard/guard.test.ts'];
const mintKey = ['test/dashboard/pages/mint-key.test.ts'];
const rotate = ['test/dashboard/pages/rotate.test.ts'];
const session = ['test/dashboard/session.test.ts'];

export const dashboard: readonly Mutant[] = [
  {
    name: 'a name that was made to point at the dashboard is told nothing',
    file: 'dashboard/guard/places.ts',
    from: 'return url === null ? undefined : placeOf(url);',
    to: "return placeOf(url ?? new URL('http://'.concat(named)));",
    tests: guard,
  },
  {
    name: 'a page of another origin changes nothing',
    file: 'dashboard/guard/same-origin.ts',
    from: "if (site !== undefined && site !== 'same-origin') return false;",
    to: '',
    tests: guard,
  },
  {
    name: 'a request that does not say where it is from changes nothing',
    file: 'dashboard/guard/same-origin.ts',
    from: 'return site !== undefined || origin !== undefined;',
    to: 'return true;',
    tests: guard,
  },
  {
    name: 'without the header that only its own pages know nothing is changed',
    file: 'dashboard/door.ts',
    from: "if (!isReading(request) && !isSameText(headerOf(request, 'x-penstock-csrf'), session.csrf))",
    to: 'if (isReading(request) && session.csrf === "")',
    tests: cluster,
  },
  {
    name: 'what was sealed for one purpose is not opened for another',
    file: 'dashboard/session/seal.ts',
    from: 'return protectedHeader.typ === purpose',
    to: "return protectedHeader.typ !== ''",
    tests: session,
  },
  {
    name: 'a session that was ended stays ended',
    file: 'dashboard/session/ended.ts',
    from: ' || ended.has(id)',
    to: '',
    tests: session,
  },
  {
    name: 'a refresh token is sent once, however many pages ask',
    file: 'dashboard/session/renewals.ts',
    from: 'if (known !== undefined && nowMs < known.keptUntilMs) return known.answer;',
    to: '',
    tests: cluster,
  },
  {
    name: 'the next token of a session is the same person’s',
    file: 'dashboard/session/renewals.ts',
    from: 'isSamePerson(session.token, tokens.token);',
    to: 'true;',
    tests: cluster,
  },
  {
    name: 'of too many that were ended none comes back',
    file: 'dashboard/session/ended.ts',
    from: 'overUntilMs = Math.max(overUntilMs, issuedAtMs);',
    to: '',
    tests: session,
  },
  {
    name: 'a session is over with its token',
    file: 'dashboard/session/session.ts',
    from: 'isKept ? expiresAtMs : Math.min(expiresAtMs, endMs ?? Number.POSITIVE_INFINITY)',
    to: 'expiresAtMs',
    tests: session,
  },
  {
    name: 'an address that fails again and again waits',
    file: 'dashboard/session/sign-in-limiter.ts',
    from: 'bucket.tokens -= 1;',
    to: '',
    tests: session,
  },
  {
    name: 'addresses without end are not all remembered',
    file: 'dashboard/session/sign-in-limiter.ts',
    from: 'if (buckets.size > bounds.addressesMax && oldest !== undefined) buckets.delete(oldest);',
    to: 'void oldest;',
    tests: session,
  },
  {
    name: 'a Secret is never read',
    file: 'dashboard/guard/kube-paths.ts',
    from: "if (method !== 'POST') return refuse('method');",
    to: '',
    tests: guard,
  },
  {
    name: 'a name leads to no other path',
    file: 'dashboard/guard/kube-paths.ts',
    from: '(namespace === undefined || !namePattern.test(name))',
    to: '(namespace === undefined || name === "")',
    tests: guard,
  },
  {
    name: 'nobody is sent to another address after signing in',
    file: 'dashboard/routes/oidc.ts',
    from: '(?![/\\\\])',
    to: '',
    tests: guard,
  },
  {
    name: 'a reader who takes nothing is waited for, and nothing is kept for them',
    file: 'dashboard/routes/watch.ts',
    from: 'if (!raw.write(text)) await roomIn(raw, clock);',
    to: 'raw.write(text);',
    tests: ['test/dashboard/watch.test.ts'],
  },
  {
    name: 'answers are kept by no cache, however their address is written',
    file: 'dashboard/server.ts',
    from: "      reply.header('cache-control', 'no-store');\n",
    to: "      if (request.url.startsWith('/api')) reply.header('cache-control', 'no-store');\n",
    tests: cluster,
  },
  {
    name: 'a stream ends with the time of its session',
    file: 'dashboard/routes/watch.ts',
    from: 'session.expiresAtMs - clock.wallMs(), endSession',
    to: '2 ** 31 - 1, endSession',
    tests: ['test/dashboard/watch.test.ts'],
  },
  {
    name: 'a stream ends where its person signs out',
    file: 'dashboard/door.ts',
    from: '  door.live.end(session);\n',
    to: '',
    tests: cluster,
  },
  {
    name: 'of a key no more is sent than what people recognise it by',
    file: 'dashboard/pages/keys/mint-key.ts',
    from: 'key.slice(-4)',
    to: 'key.slice(4)',
    tests: mintKey,
  },
  {
    name: 'a key holds all the random bytes that it was made of',
    file: 'dashboard/pages/keys/mint-key.ts',
    from: 'if (randomBytes.length !== 32)',
    to: 'if (randomBytes.length === 0)',
    tests: mintKey,
  },
  {
    name: 'a key that has leaked works no longer when it is rotated without overlap',
    file: 'dashboard/pages/keys/rotate.ts',
    from: 'overlapMs > 0 && ',
    to: '',
    tests: rotate,
  },
  {
    name: 'a rotation gives an older key no more time than it had',
    file: 'dashboard/pages/keys/rotate.ts',
    from: 'entry.notAfter !== undefined && Date.parse(entry.notAfter) < endMs ? entry.notAfter : ',
    to: '',
    tests: rotate,
  },
  {
    name: 'an edit does not undo what somebody else changed meanwhile',
    file: 'dashboard/pages/keys/key-form.ts',
    from: 'metadata: { resourceVersion: before.metadata.resourceVersion },',
    to: 'metadata: {},',
    tests: ['test/dashboard/pages/key-form.test.ts'],
  },
  {
    name: 'calls are made with the person’s own token alone',
    file: 'kube/connection.ts',
    from: '...(request.bearer === undefined',
    to: "...(request.bearer !== ''",
    tests: ['test/kube/connection.test.ts'],
  },
];
