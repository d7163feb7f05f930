// The present form of an object cannot be served: is its last known good form held, or does it leave at once?
//
// A form is held after a likely mistake. A possible intent takes effect at once: an object that is deleted or suspended, a key that is
// disabled. The consent of others is checked again at every run (see `hold-provider.ts`, `hold-route.ts`), so a withdrawn consent
// takes effect at once.

import type { Reason } from '../../core/catalog/conditions.ts';

type HoldRule = 'held' | 'at-once';

/** By the reason of the condition that keeps the present form out. A reason that is not here: at once. */
const PRESENT_FORM: Partial<Readonly<Record<Reason, HoldRule>>> = {
  Invalid: 'held',
  UnsupportedValue: 'held',
  // An edit that asks for too much. Where instead the permission went, the form that is held has lost it too.
  NotPermitted: 'held',
  IdentityNotAllowed: 'held',
  ReservedPrefix: 'held',
  EndpointNotAllowed: 'held',
  HostNotAllowed: 'held',
  SecretNotOptedIn: 'held',
  SecretTypeNotAllowed: 'held',
  ModelConflict: 'held',
  NoUsableTarget: 'held',
  SecretNotFound: 'held',
  KeyNotFound: 'held',
  SecretValueInvalid: 'held',
  CANotFound: 'held',
  InvalidCertificate: 'held',
  // Every key was disabled or drained by its owner.
  NoUsableKey: 'at-once',
  Suspended: 'at-once',
};

/** What becomes of a credential of a held form, by what is wrong with its Secret now. A reason that is not here: at once. */
const CREDENTIAL: Partial<Readonly<Record<Reason, HoldRule>>> = {
  SecretNotFound: 'held',
  KeyNotFound: 'held',
  SecretValueInvalid: 'held',
  SecretNotOptedIn: 'at-once',
  SecretTypeNotAllowed: 'at-once',
  HostNotAllowed: 'at-once',
};

export function ruleOfForm(reason: Reason): HoldRule {
  return PRESENT_FORM[reason] ?? 'at-once';
}

export function ruleOfCredential(reason: Reason): HoldRule {
  return CREDENTIAL[reason] ?? 'at-once';
}
