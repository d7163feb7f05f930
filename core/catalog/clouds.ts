// What is known of a cloud by its name in `auth.type`? One row each: its member of `auth`, and where its identities may be sent.

export const cloudNames = ['AWS', 'GCP', 'Azure'] as const;
export type CloudName = (typeof cloudNames)[number];

interface CloudFacts {
  /** Of `auth`, named after the type. */
  readonly member: 'aws' | 'gcp' | 'azure';
  /** Fields of that member, and what the settings of a routing table call them. */
  readonly settings: Readonly<Record<string, string>>;
  /** Of those fields that have few values. */
  readonly choices: Readonly<Record<string, readonly string[]>>;
  /** The content of a Secret that replaces a key, in the words of a form. */
  readonly credentials: string;
  /** Fields that such credentials need. */
  readonly requiredWithKeys: readonly string[];
  /** The one of them by which an identity acts as another, and which a TenantPolicy may bound. */
  readonly role: string;
  /** Host names that belong to the cloud's model services alone: no tenant can be the server there. */
  readonly hosts: RegExp;
}

/** How fine the sessions of a role tell callers apart. */
export const SESSION_TAGS = ['Namespace', 'ApiKey'] as const;

export const CLOUDS: Readonly<Record<CloudName, CloudFacts>> = {
  AWS: {
    member: 'aws',
    settings: { roleARN: 'roleArn', externalID: 'externalId', sessionTags: 'sessionTags' },
    choices: { sessionTags: SESSION_TAGS },
    credentials: 'AWS credentials file with one profile',
    requiredWithKeys: [],
    role: 'roleARN',
    hosts:
      /^(vpce-[a-z0-9-]+\.)?bedrock-(runtime|mantle)(-fips)?\.[a-z0-9-]+\.(vpce\.)?(amazonaws\.(com(\.cn)?|eu)|api\.aws|api\.amazonwebservices\.com\.cn)$/,
  },
  GCP: {
    member: 'gcp',
    settings: { serviceAccount: 'impersonate' },
    choices: {},
    credentials: 'JSON key of a service account',
    requiredWithKeys: [],
    role: 'serviceAccount',
    hosts: /^(generativelanguage|([a-z0-9-]+-)?aiplatform|aiplatform\.[a-z0-9-]+\.rep)\.googleapis\.com$/,
  },
  Azure: {
    member: 'azure',
    settings: { tenantID: 'tenantId', clientID: 'clientId', scope: 'scope' },
    choices: {},
    credentials: 'Client secret, or certificate and private key in PEM',
    requiredWithKeys: ['tenantID', 'clientID'],
    role: 'clientID',
    hosts: /^[a-z0-9-]+\.(openai|services\.ai|cognitiveservices)\.azure\.(com|us|cn)$/,
  },
};

export function isCloudName(type: string): type is CloudName {
  return Object.hasOwn(CLOUDS, type);
}
