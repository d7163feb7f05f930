// Who signs the certificates of a control plane? An authority of its own, by openssl: kube-apiserver reads certificates strictly.

import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Authority {
  readonly certFile: string;
  /**
   * Files of that name in the folder of the plane. For a client, `subject` says who it is: `/O=<group>/CN=<user>`.
   * For a server, `names` are such as `IP:127.0.0.1,DNS:localhost`.
   */
  issue(name: string, subject: string, names?: string): Promise<CertificateFiles>;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export async function makeAuthority(folder: string): Promise<Authority> {
  const certFile = join(folder, 'ca.crt');
  const caKeyFile = join(folder, 'ca.key');
  await openssl(
    ...['req', '-x509', ...newKey, '-keyout', caKeyFile, '-out', certFile],
    ...['-subj', '/CN=test-cluster-ca', '-days', '2'],
  );
  return {
    certFile,
    async issue(name, subject, names) {
      const files = { certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`) };
      const requestFile = join(folder, `${name}.csr`);
      const extensionFile = join(folder, `${name}.ext`);
      await openssl('req', ...newKey, '-keyout', files.keyFile, '-out', requestFile, '-subj', subject);
      await writeFile(
        extensionFile,
        `${names === undefined ? '' : `subjectAltName=${names}\n`}extendedKeyUsage=serverAuth,clientAuth\n`,
      );
      await openssl(
        ...['x509', '-req', '-in', requestFile, '-CA', certFile, '-CAkey', caKeyFile, '-days', '2'],
        ...['-set_serial', `0x1${randomBytes(8).toString('hex')}`, '-extfile', extensionFile],
        ...['-out', files.certFile],
      );
      return files;
    },
  };
}

async function openssl(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await run('openssl', args);
  if (code === 0) return;
  const version = await run('openssl', ['version']);
  throw new Error(
    version.code === 0
      ? `openssl ${args[0]} failed: ${stderr.trim()}`
      : 'The test cluster needs certificates, and there is no command "openssl": install openssl',
  );
}
