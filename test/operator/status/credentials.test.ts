// What does a Provider say of credentials that gateways exchange?

import { describe, expect, test } from 'vitest';
import type { CredentialState } from '../../../core/contract/exchange.ts';
import type { PodAnswer } from '../../../operator/pods/pods-state.ts';
import { indexCredentials } from '../../../operator/status/credentials-of.ts';
import { eventsFor } from '../../../operator/status/events.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { provider, secret } from '../make.ts';
import { fleet, heard, judge, look, runs, say, withStatus, written } from './status-support.ts';

const baseURL = 'https://bedrock-runtime.us-east-1.amazonaws.com';
const spec = { type: 'Bedrock', baseURL, auth: { type: 'AWS' } };
const OBJECT = provider(spec, { namespace: 'platform', generation: 3 });
const VERDICT = judge('Provider', { providers: [OBJECT] });

const arn = 'arn:aws:sts::123456789012:assumed-role/models/penstock';
const refusal =
  'sts.us-east-1.amazonaws.com answered 403 (AccessDenied). Let the trust policy name the gateway.';
const line = (state: CredentialState['state'], more: Partial<CredentialState> = {}): CredentialState => ({
  provider: 'platform/openai',
  state,
  ...more,
});
const valid = runs(7, { credentials: [line('valid', { identity: arn })] });
const refused = runs(7, { credentials: [line('failed', { message: refusal })] });
const silent: PodAnswer = { failure: 'it does not answer', atMs: 0 };

const credentials = (...answers: (PodAnswer | undefined)[]) => indexCredentials(...heard(answers))(VERDICT);
const decided = (object: RawObject, ...answers: (PodAnswer | undefined)[]) =>
  look(object, VERDICT, { credentials: credentials(...answers) });
const stored = (...answers: PodAnswer[]) => withStatus(OBJECT, written(decided(OBJECT, ...answers)));

describe('the condition CredentialsValid', () => {
  test.each<[string, (PodAnswer | undefined)[], string, string]>([
    ['says as whom it signs in', [valid, valid], `True CredentialsExchanged: as ${arn}`, 'Serving'],
    [
      'does not count pods that were not heard',
      [valid, undefined, silent],
      `True CredentialsExchanged: as ${arn}`,
      'Serving',
    ],
    ['says why not, and what to do', [refused, refused], `False CredentialsRefused: ${refusal}`, 'Failing'],
    [
      'says that gateways are signed in where nothing says as whom',
      [runs(7, { credentials: [line('valid')] })],
      'True CredentialsExchanged: gateways are signed in',
      'Serving',
    ],
    [
      'is in between where only some pods sign in',
      [valid, refused],
      `False CredentialsPartlyRefused: ${refusal}`,
      'Degraded',
    ],
    [
      'waits for the first report',
      [runs(7), undefined],
      'Unknown CredentialsPending: no gateway pod has reported yet whether the cloud accepts the credentials; wait',
      'Serving',
    ],
  ])('%s', (_, answers, words, state) => {
    const status = written(decided(OBJECT, ...answers));
    expect(say(status, 'CredentialsValid')).toBe(words);
    expect(status.state).toBe(state);
    expect(say(status, 'Ready')).toMatch(/^True/);
  });

  test('is the same for any order of pods and keys', () => {
    const of = (...keys: readonly string[]) =>
      runs(7, { credentials: keys.map((key) => line('failed', { key, message: `${key} is wrong.` })) });
    expect(credentials(of('b', 'a'), of('a'))).toEqual(credentials(of('a'), of('a', 'b')));
    expect(credentials(of('b', 'a'))?.message).toBe('key a: a is wrong. key b: b is wrong.');
  });

  test('stays unchanged under a new leader without reports, but not for another form', () => {
    const object = stored(valid);
    expect(look(object, VERDICT, { pods: fleet(runs(7), runs(7)) })).toMatchObject({ type: 'same' });
    const edited = { ...VERDICT, generation: 4 };
    const status = written(look({ ...object, metadata: { ...object.metadata, generation: 4 } }, edited));
    expect(say(status, 'CredentialsValid')).toMatch(/^Unknown CredentialsPending/);
  });

  test('causes an event when it fails and when it works again, and not without a change', () => {
    const events = (object: RawObject, ...answers: PodAnswer[]) => {
      const decision = decided(object, ...answers);
      return decision.type === 'write'
        ? eventsFor(decision.transitions).map(({ type, reason }) => `${type} ${reason}`)
        : [];
    };
    expect(events(stored(valid), refused)).toEqual(['Warning CredentialsRefused']);
    expect(events(stored(refused), refused)).toEqual([]);
    expect(events(stored(refused), valid)).toEqual(['Normal CredentialsExchanged']);
  });

  const keys = [{ name: 'main', secretRef: { name: 'openai', key: 'key' } }];
  const bound = { annotations: { 'penstock.dev/allowed-hosts': new URL(baseURL).host } };
  const value = 'aws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = abc\n';
  const withKeys = (auth: object) =>
    judge('Provider', {
      providers: [provider({ ...spec, auth: { type: 'AWS', keys, ...auth } })],
      secrets: [secret({ ...bound, data: { key: value } })],
    });

  test.each([
    ['no identity and no role', withKeys({})],
    ['a plain key', judge('Provider', { providers: [provider()], secrets: [secret()] })],
    ['no right to its identity', judge('Provider', { providers: [provider(spec)] })],
  ])('is absent for a Provider with %s', (_, verdict) => {
    const conditions =
      written(look(provider(), verdict, { credentials: credentials(valid) })).conditions ?? [];
    expect(conditions.map(({ type }) => type)).not.toContain('CredentialsValid');
  });

  test('exists for access keys with a role', () => {
    const verdict = withKeys({ aws: { roleARN: 'arn:aws:iam::123456789012:role/models' } });
    expect(say(written(look(provider(), verdict)), 'CredentialsValid')).toMatch(
      /^Unknown CredentialsPending/,
    );
  });
});
