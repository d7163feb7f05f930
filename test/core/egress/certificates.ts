// Real X.509 certificates for TLS tests, made in memory: every name, issuer and date a test asks for, and no tool needed.
// DER by hand (ITU-T X.690), ECDSA P-256 with SHA-256 (RFC 5480, RFC 5758): the openssl that is usual (before 3.4) takes no dates but
// now and so many days on, unless it keeps a whole authority in files, and node:crypto only reads certificates.

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface Identity {
  readonly cert: string;
  readonly key: string;
  readonly name: string;
  readonly privateKey: KeyObject;
}

export interface CertificateOptions {
  readonly name: string;
  readonly dnsNames?: readonly string[];
  readonly ipv4?: readonly string[];
  /** Absent: signed by itself. */
  readonly issuer?: Identity;
  readonly isCa?: boolean;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** Of its key. Default: EC, on P-256. An RSA certificate needs an issuer: all signatures here are ECDSA. */
  readonly keyType?: 'ec' | 'rsa';
}

const dayMs = 86_400_000;

export function makeCertificate(options: CertificateOptions): Identity {
  const { publicKey, privateKey } =
    options.keyType === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const notBefore = options.notBefore ?? new Date(Date.now() - dayMs);
  const notAfter = options.notAfter ?? new Date(Date.now() + dayMs);
  const altNames = [
    ...(options.dnsNames ?? []).map((name) => der(0x82, Buffer.from(name, 'ascii'))),
    ...(options.ipv4 ?? []).map((address) => der(0x87, Buffer.from(address.split('.').map(Number)))),
  ];
  const extensions = [
    ...(altNames.length === 0 ? [] : [extension('551d11', sequence(...altNames))]),
    ...(options.isCa === true ? [extension('551d13', sequence(der(0x01, Buffer.from([0xff]))))] : []),
  ];
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    // The leading byte keeps the number positive and free of padding.
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    signatureAlgorithm,
    commonName(options.issuer?.name ?? options.name),
    sequence(time(notBefore), time(notAfter)),
    commonName(options.name),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
  );
  const signature = sign('sha256', body, options.issuer?.privateKey ?? privateKey);
  const certificate = sequence(
    body,
    signatureAlgorithm,
    der(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  return {
    cert: pem('CERTIFICATE', certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name: options.name,
    privateKey,
  };
}

function der(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content)]), content]);
}

/** In as few bytes as it takes; another spelling is no DER (X.690, 10.1). */
function lengthOf({ length }: Buffer): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

const signatureAlgorithm = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));

function commonName(name: string): Buffer {
  return sequence(
    der(0x31, sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(name, 'utf8')))),
  );
}

function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(digits, 'ascii'));
}

function extension(oid: string, value: Buffer): Buffer {
  return sequence(der(0x06, Buffer.from(oid, 'hex')), der(0x04, value));
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
