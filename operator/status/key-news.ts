// What is there to tell of the keys of an ApiKey? Read from its status as it was and as it is to be, so that nothing has to be
// remembered, and a crash between a write and its event loses none.

import { EVENT_REASONS, type EventReason } from '../resources/event-reasons.ts';
import type { EventFact } from './events.ts';
import type { ObjectStatus } from './object-status.ts';

/** @param after of the same ApiKey, as `before` is. */
export function keyNews(before: ObjectStatus | undefined, after: ObjectStatus): EventFact[] {
  const [then, now] = [versionsOf(before), versionsOf(after)];
  const secretName = secretNameOf(after);
  // Keys that were made elsewhere come and go as their owner says.
  if (secretName === undefined) return secretLeft(before, after);
  if (then.length === 0 || now.length === 0) return [];
  const newest = now.reduce((a, b) => (a.id > b.id ? a : b));
  const newestThen = then.reduce((a, b) => (a.id > b.id ? a : b));
  const isAnother = newest.fingerprint !== newestThen.fingerprint;
  const kept = now.find(({ fingerprint }) => fingerprint === newestThen.fingerprint);
  const hasRetired = then.some(
    ({ fingerprint, state }) =>
      state !== 'Active' &&
      fingerprint !== newestThen.fingerprint &&
      !now.some((one) => one.fingerprint === fingerprint),
  );
  const where = `Secret ${secretName}`;
  return [
    ...(isAnother && kept !== undefined
      ? [
          tell(
            'KeyRotated',
            `a new key is in ${where}; the previous key works until ${kept.notAfter ?? 'its end'}`,
          ),
        ]
      : []),
    ...(isAnother && kept === undefined
      ? [tell('KeyReplaced', `another key is in ${where}; the previous key no longer works`)]
      : []),
    ...(hasRetired ? [tell('KeyRetired', `the previous key has expired and is no longer in ${where}`)] : []),
  ];
}

/** The Secret of a key that was made here is not deleted when imports take its place: clients may be reading it. */
function secretLeft(before: ObjectStatus | undefined, after: ObjectStatus): EventFact[] {
  const secretName = secretNameOf(before);
  const isTurn = issuedBecause(before) === 'SecretCreated' && issuedBecause(after) === 'Imported';
  if (secretName === undefined || !isTurn) return [];
  const imported = new Set(versionsOf(after).map(({ fingerprint }) => fingerprint));
  const isAmong = versionsOf(before).some(({ fingerprint }) => imported.has(fingerprint));
  const what = isAmong
    ? 'spec.imports has the hash of its key'
    : 'spec.imports has no hash of its key, so that key no longer works';
  const note =
    `Secret ${secretName}, which was made for this ApiKey, stays; ${what}. ` +
    `When no client reads it any more, run in this namespace: kubectl delete secret ${secretName}`;
  return [{ type: 'Normal', reason: 'Imported', action: 'Issue', note }];
}

function secretNameOf(status: ObjectStatus | undefined): string | undefined {
  return status !== undefined && 'secretName' in status ? status.secretName : undefined;
}

function issuedBecause(status: ObjectStatus | undefined): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Issued')?.reason;
}

function versionsOf(status: ObjectStatus | undefined) {
  return status !== undefined && 'versions' in status ? (status.versions ?? []) : [];
}

function tell(reason: EventReason, note: string): EventFact {
  return { type: EVENT_REASONS[reason].type, reason, action: 'Issue', note };
}
