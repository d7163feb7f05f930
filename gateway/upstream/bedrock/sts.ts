// What does AWS's token service give for a projected token, or for other credentials? Those of a role, for an hour.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html

import type { Pool } from 'undici';
import { askService, type ServiceAnswer } from '../identity/ask-service.ts';
import { ExchangeError } from '../identity/exchange-error.ts';
import type { HostClocks } from '../identity/host-clocks.ts';
import { type RefusalWords, refused } from '../identity/refusals.ts';
import type { Sign } from '../sign.ts';
import type { SessionTags } from './session-tags.ts';
import { roleRefusals, tokenRefusals } from './sts-refusals.ts';
import { type Temporary, temporaryOf } from './temporary.ts';

export interface Sts {
  readonly pool: Pool;
  readonly url: URL;
  readonly clocks: HostClocks;
  readonly nowMs: () => number;
}

interface Role {
  readonly arn: string;
  /** Shown in the account's logs as the session that assumed the role. */
  readonly sessionName: string;
}

interface TaggedRole extends Role {
  readonly externalId: string | undefined;
  readonly tags: SessionTags;
}

/** The only exchange that is not signed: the token identifies the caller. @param readToken Called for each exchange: the kubelet renews the file. */
export async function assumeWithToken(
  sts: Sts,
  { arn, sessionName }: Role,
  readToken: () => Promise<string>,
): Promise<Temporary> {
  const askWith = (token: string): Promise<ServiceAnswer> =>
    post(sts, formOf('AssumeRoleWithWebIdentity', arn, sessionName, { WebIdentityToken: token }));
  const token = await readToken();
  const answer = await askWith(token);
  const hasEnded = answer.status !== 200 && codeOf(answer.text) === 'ExpiredTokenException';
  // It may have been renewed on the way.
  const renewed = hasEnded ? await readToken() : token;
  return credentialsIn(sts, tokenRefusals, renewed === token ? answer : await askWith(renewed));
}

export async function assumeRole(
  sts: Sts,
  { arn, sessionName, externalId, tags }: TaggedRole,
  sign: Sign | undefined,
): Promise<Temporary> {
  const id = externalId === undefined ? {} : { ExternalId: externalId };
  const form = formOf('AssumeRole', arn, sessionName, { ...id, ...membersOf(tags) });
  const ask = (): Promise<ServiceAnswer> => post(sts, form, sign);
  const answer = await ask();
  const isLearnt =
    answer.status === 403 &&
    /^(SignatureDoesNotMatch|InvalidSignatureException|RequestExpired)$/.test(codeOf(answer.text) ?? '') &&
    sts.clocks.learn(sts.url.host, answer.header('date'), sts.nowMs());
  return credentialsIn(sts, roleRefusals, isLearnt ? await ask() : answer);
}

function membersOf(tags: SessionTags): Readonly<Record<string, string>> {
  const members = Object.entries(tags).flatMap(([key, value], at) => [
    [`Tags.member.${at + 1}.Key`, key],
    [`Tags.member.${at + 1}.Value`, value],
  ]);
  return Object.fromEntries(members);
}

function formOf(
  action: string,
  arn: string,
  sessionName: string,
  more: Readonly<Record<string, string>>,
): string {
  const named = { Action: action, Version: '2011-06-15', RoleArn: arn, RoleSessionName: sessionName };
  return new URLSearchParams({ ...named, ...more }).toString();
}

function post({ pool, url, clocks, nowMs }: Sts, body: string, sign?: Sign): Promise<ServiceAnswer> {
  const plain = ['content-type', 'application/x-www-form-urlencoded; charset=utf-8'];
  const request = { method: 'POST', host: url.host, path: '/', query: '', headers: plain } as const;
  const signed = sign?.(request, [Buffer.from(body)], nowMs() + clocks.offsetMs(url.host)) ?? [];
  const headers = [...plain, ...signed];
  const byName = headers.flatMap((name, at) =>
    at % 2 === 0 ? [[name, headers[at + 1] ?? ''] as const] : [],
  );
  return askService(pool, url, { method: 'POST', headers: Object.fromEntries(byName), body });
}

function credentialsIn(
  { url, nowMs }: Sts,
  rows: readonly RefusalWords[],
  { status, text, header }: ServiceAnswer,
): Temporary {
  if (status !== 200) throw refused(rows, url, status, codeOf(text) ?? '');
  const found = temporaryOf(
    {
      accessKeyId: element(text, 'AccessKeyId'),
      secretAccessKey: element(text, 'SecretAccessKey'),
      sessionToken: element(text, 'SessionToken'),
      expiration: element(text, 'Expiration'),
    },
    header('date'),
    nowMs(),
  );
  const identity = element(text, 'Arn');
  if (!found)
    throw new ExchangeError(`${url.host} gave no credentials. Check that it is AWS's token service.`, true);
  return { ...found, ...(identity === undefined ? {} : { identity }) };
}

function codeOf(text: string): string | undefined {
  return element(text, 'Code');
}

/** The answers are flat: each name is there once. */
function element(xml: string, name: string): string | undefined {
  const [, after] = xml.split(`<${name}>`, 2);
  const content = after?.split(`</${name}>`, 1)[0]?.trim();
  return content?.replace(/&(?:(lt|gt|quot|apos|amp)|#(\d{1,6})|#x([0-9a-f]{1,6}));/gi, unescaped);
}

function unescaped(entity: string, name?: string, decimal?: string, hexadecimal?: string): string {
  if (name !== undefined)
    return { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }[name.toLowerCase()] ?? entity;
  const point = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
  return point <= 0x10_ff_ff ? String.fromCodePoint(point) : entity;
}
