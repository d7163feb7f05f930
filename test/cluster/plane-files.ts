// Which keys, certificates and policies does a control plane start with? Written into its folder, known to nobody else.

import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Authority, makeAuthority } from './authority.ts';

export interface PlaneFiles {
  readonly authority: Authority;
  readonly auditFile: string;
  readonly authenticationFile: string;
  /** Of the key that signs ServiceAccount tokens. */
  readonly accountsKeyFile: string;
  /** Flags of kube-apiserver that name them. */
  readonly serverFlags: readonly string[];
}

/** Unknown callers may only read the health of the server. */
const authentication = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  anonymous: { enabled: true, conditions: [{ path: '/livez' }, { path: '/readyz' }, { path: '/healthz' }] },
};

/** Who asked for what, and what was the answer: of everything except what the server asks of itself. Never what was in it. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'None', users: ['system:apiserver'] },
    { level: 'None', nonResourceURLs: ['/livez*', '/readyz*', '/healthz*'] },
    { level: 'Metadata', omitManagedFields: true },
  ],
};

/** Somebody the server knows by a token. */
export interface PlaneUser {
  readonly name: string;
  readonly token: string;
  readonly group?: string;
}

export async function makePlaneFiles(
  folder: string,
  adminToken: string,
  more: { readonly addresses?: readonly string[]; readonly users?: readonly PlaneUser[] } = {},
): Promise<PlaneFiles> {
  const write = async (name: string, content: string) => {
    const path = join(folder, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  const authority = await makeAuthority(folder);
  const server = await authority.issue(
    'server',
    '/CN=kube-apiserver',
    [
      ...new Set(['127.0.0.1', ...(more.addresses ?? [])]).values().map((address) => `IP:${address}`),
      'DNS:localhost,DNS:kubernetes.default.svc',
    ].join(','),
  );
  const users = [{ name: 'admin', token: adminToken, group: 'system:masters' }, ...(more.users ?? [])];
  const tokens = users
    .map(({ name, token, group }) => `${token},${name},${name},"${group ?? ''}"\n`)
    .join('');
  const accounts = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const accountsKey = await write('service-accounts.key', accounts.privateKey);
  // There before the server starts, which then appends to it: it may be emptied.
  const auditFile = await write('audit.log', '');
  const authenticationFile = await write('authentication.yaml', stringify(authentication));
  return {
    authority,
    auditFile,
    authenticationFile,
    accountsKeyFile: accountsKey,
    serverFlags: [
      `--tls-cert-file=${server.certFile}`,
      `--tls-private-key-file=${server.keyFile}`,
      `--client-ca-file=${authority.certFile}`,
      `--token-auth-file=${await write('tokens.csv', tokens)}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${await write('service-accounts.pub', accounts.publicKey)}`,
      `--service-account-signing-key-file=${accountsKey}`,
      `--authentication-config=${authenticationFile}`,
      `--audit-policy-file=${await write('audit-policy.yaml', stringify(auditPolicy))}`,
      `--audit-log-path=${auditFile}`,
      // In megabytes. One file, however long a suite is.
      '--audit-log-maxsize=10000',
    ],
  };
}
