// Which safeguards of local mode and its dashboard are noticed when they are gone?

import type { Mutant } from '../../../mutants/mutant.ts';

export const localMode: readonly Mutant[] = [
  {
    name: 'a link into the dashboard of local mode works once',
    file: 'local/dashboard/one-time-link.ts',
    from: '        link = undefined;\n',
    to: '',
    tests: ['test/local/dashboard/sign-in.test.ts'],
  },
  {
    name: 'a link into the dashboard of local mode expires',
    file: 'local/dashboard/one-time-link.ts',
    from: 'clock.now() < link.endsAtMs',
    to: 'clock.now() >= 0',
    tests: ['test/local/dashboard/sign-in.test.ts'],
  },
  {
    name: 'a local mode link does not sign a user in on a cluster',
    file: 'dashboard/pages/shell/sign-in.tsx',
    from: 'isLocal && linked !== undefined',
    to: 'linked !== undefined',
    tests: ['test/e2e/dashboard/sign-in.e2e.ts'],
  },
  {
    name: 'the dashboard of local mode listens for this machine alone',
    file: 'local/dashboard/start.ts',
    from: "const host = '127.0.0.1';",
    to: "const host = '0.0.0.0';",
    tests: ['test/local/dashboard/sign-in.test.ts'],
  },
  {
    name: 'a manifest that was changed at the same time is not overwritten',
    file: 'local/dashboard/write-file.ts',
    from: 'if (readPresent(path) !== before)',
    to: "if (readPresent(path) === '')",
    tests: ['test/local/dashboard/edit-text.test.ts'],
  },
  {
    name: 'what would keep all manifests from being taken is not written',
    file: 'local/dashboard/cluster.ts',
    from: '  await expectTaken(parts, { file, content: text });\n',
    to: '',
    tests: ['test/local/dashboard/held-back.test.ts'],
  },
  {
    name: 'manifests that are held back already can be mended in the dashboard',
    file: 'local/foresee.ts',
    from: 'return isHeldBack ? [] : problems;',
    to: 'return problems;',
    tests: ['test/local/dashboard/held-back.test.ts'],
  },
  {
    name: 'a budget that is used up is so no longer when a new day has begun',
    file: 'local/dashboard/follow-spend.ts',
    from: 'const isNewDay = day !== reportedDay;',
    to: 'const isNewDay = toldDay === undefined;',
    tests: ['test/local/dashboard/spend.test.ts'],
  },
  {
    name: 'what would be read back as something else is not written into a manifest',
    file: 'local/dashboard/edit-text.ts',
    from: 'edited !== undefined && isDeepStrictEqual(tryValues(edited), left)',
    to: 'edited !== undefined',
    tests: ['test/local/dashboard/edit-text.test.ts'],
  },
  {
    name: 'a manifest that is empty while it is saved does not end what it declares',
    file: 'local/read-folder.ts',
    from: '!isWhole || isLate || isEmptied(name, bytes)',
    to: '!isWhole || isLate',
    tests: ['test/local/saved-in-place.test.ts'],
  },
  {
    name: 'a name that is twice in a map is refused',
    file: 'local/read-yaml.ts',
    from: 'for (const document of documents) refuseRepeatedKeys(document);',
    to: '',
    tests: ['test/local/heavy-manifests.test.ts'],
  },
  {
    name: 'a manifest in another encoding is not read, and so not written with other characters',
    file: 'local/read-folder.ts',
    from: 'if (!isUtf8(bytes))',
    to: 'if (false)',
    tests: ['test/local/editing.test.ts'],
  },
  {
    name: 'a comment in a manifest is about what follows it, whatever goes above',
    file: 'local/dashboard/edit-text.ts',
    from: '  placeComments(document, text);\n',
    to: '',
    tests: ['test/local/dashboard/edit-text.test.ts'],
  },
  {
    name: 'only its owner can read a Secret in the manifests folder',
    file: 'local/dashboard/write-file.ts',
    from: 'isSecret ? 0o600 : 0o644',
    to: '0o644',
    tests: ['test/local/dashboard/writing.test.ts'],
  },
];
