// Does any process that any test starts tell a secret? All that they write is searched: for keys of callers, which are known by their
// form, and for the credentials of the tables that tests make. What is found fails the file (test/setup.ts). Installations are
// searched for more, and in more places: test/flow/cluster/secrecy.ts.

/** Shorter values stand in texts by chance. */
const lengthMin = 10;
const callersKey = /psk_[0-9A-Za-z]{49}/;

const credentials = new Set<string>();
let reported: string[] = [];

/** From now on no process may tell it. */
export function keepSecret(credential: string): void {
  if (credential.length >= lengthMin) credentials.add(credential);
}

/** @param by Who wrote it, for the report; the secret is in no report. */
export function searchOutput(by: string, text: string): void {
  if (callersKey.test(text)) reported.push(`${by} reported the key of a caller`);
  for (const credential of credentials)
    if (text.includes(credential)) reported.push(`${by} reported the credential of a provider`);
}

/** What was found since the last call. */
export function takeReported(): readonly string[] {
  const found = reported;
  reported = [];
  return found;
}
