// Issues a certificate: X.509 by the schemas of a library, keys and signatures by Node (ECDSA P-256 with SHA-256).

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import type { KeyPair } from '../../core/contract/internal-tls.ts';

interface Wish {
  /** Common name of the subject. */
  readonly name: string;
  /** Server names; none: the certificate is that of an authority. */
  readonly serverNames: readonly string[];
  readonly lifetimeMs: number;
  readonly nowMs: number;
  /** Absent: self-signed. */
  readonly issuer?: KeyPair | undefined;
}

/** Clocks of nodes differ: a certificate is good a little before it was made. */
export const backdatedMs = 5 * 60_000;

export async function issueCertificate({
  name,
  serverNames,
  lifetimeMs,
  nowMs,
  issuer,
}: Wish): Promise<KeyPair> {
  // A hundredth of a second and 10 MB, in the one process that makes certificates, a few times a year.
  const [x509, { AsnConvert, OctetString }] = await Promise.all([
    import('@peculiar/asn1-x509'),
    import('@peculiar/asn1-schema'),
  ]);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer = issuer === undefined ? privateKey : createPrivateKey(issuer.key);
  const isAuthority = serverNames.length === 0;
  const algorithm = new x509.AlgorithmIdentifier({ algorithm: ecdsaWithSha256 });
  const commonName = (value: string) =>
    new x509.Name([
      new x509.RelativeDistinguishedName([
        new x509.AttributeTypeAndValue({
          type: commonNameId,
          value: new x509.AttributeValue({ utf8String: value }),
        }),
      ]),
    ]);
  const extension = (extnID: string, value: unknown, critical = false) =>
    new x509.Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
  const { KeyUsageFlags } = x509;
  const usage = isAuthority
    ? KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign
    : KeyUsageFlags.digitalSignature;
  const body = new x509.TBSCertificate({
    version: x509.Version.v3,
    serialNumber: positiveNumber(),
    signature: algorithm,
    issuer: issuer === undefined ? commonName(name) : commonName(nameOf(issuer)),
    validity: new x509.Validity({
      notBefore: new Date(nowMs - backdatedMs),
      notAfter: new Date(nowMs + lifetimeMs),
    }),
    subject: commonName(name),
    subjectPublicKeyInfo: AsnConvert.parse(
      publicKey.export({ type: 'spki', format: 'der' }),
      x509.SubjectPublicKeyInfo,
    ),
    extensions: new x509.Extensions([
      extension(
        x509.id_ce_basicConstraints,
        new x509.BasicConstraints(isAuthority ? { cA: true, pathLenConstraint: 0 } : {}),
        true,
      ),
      extension(x509.id_ce_keyUsage, new x509.KeyUsage(usage), true),
      extension(x509.id_ce_subjectKeyIdentifier, new x509.SubjectKeyIdentifier(keyId(publicKey))),
      extension(
        x509.id_ce_authorityKeyIdentifier,
        new x509.AuthorityKeyIdentifier({
          keyIdentifier: new x509.KeyIdentifier(keyId(createPublicKey(signer))),
        }),
      ),
      ...(isAuthority
        ? []
        : [
            extension(x509.id_ce_extKeyUsage, new x509.ExtendedKeyUsage([x509.id_kp_serverAuth])),
            extension(
              x509.id_ce_subjectAltName,
              new x509.SubjectAlternativeName(
                serverNames.map((dNSName) => new x509.GeneralName({ dNSName })),
              ),
            ),
          ]),
    ]),
  });
  const certificate = new x509.Certificate({
    tbsCertificate: body,
    signatureAlgorithm: algorithm,
    signatureValue: bufferOf(sign('sha256', Buffer.from(AsnConvert.serialize(body)), signer)),
  });
  return {
    certificate: new X509Certificate(Buffer.from(AsnConvert.serialize(certificate))).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const ecdsaWithSha256 = '1.2.840.10045.4.3.2';
const commonNameId = '2.5.4.3';

/** 64 random bits behind a byte that keeps the number positive. */
function positiveNumber(): ArrayBuffer {
  return bufferOf(Buffer.concat([Buffer.from([1]), randomBytes(8)]));
}

/** Key identifier of the subject and of the issuer, which strict verifiers demand. */
function keyId(publicKey: KeyObject): ArrayBuffer {
  return bufferOf(
    hash('sha256', publicKey.export({ type: 'spki', format: 'der' }), 'buffer').subarray(0, 20),
  );
}

function nameOf({ certificate }: KeyPair): string {
  const name = /^CN=(.+)$/m.exec(new X509Certificate(certificate).subject)?.[1];
  if (name === undefined) throw new Error('the certificate of the authority has no common name');
  return name;
}

function bufferOf(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
