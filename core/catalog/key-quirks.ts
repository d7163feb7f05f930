// In which words of their own do vendors speak of a key? One row for each, with where it was seen. For the gateway, which reads answers to
// calls, and for the operator, which reads those to its checks.

interface KeyQuirk {
  readonly vendor: string;
  /** `refused`: the key is no good, or its account is closed; `out-of-scope`: it is good, and may not do this. */
  readonly meaning: 'refused' | 'out-of-scope';
  /** Of the message, from its very beginning: further on it may quote the caller. */
  readonly phrase?: RegExp;
  /** Of type and code, with a blank in between. */
  readonly word?: RegExp;
  /** A public thread that has it word for word. */
  readonly source: string;
  /** Month in which it was written there. */
  readonly seen: string;
}

const github = 'https://github.com';

export const keyQuirks: readonly KeyQuirk[] = [
  {
    vendor: 'Google',
    meaning: 'refused',
    phrase: /^API key (not valid|not found|expired)\. Please (pass a valid|renew the) API key\./i,
    source: `${github}/can1357/oh-my-pi/issues/449`,
    seen: '2026-03',
  },
  {
    vendor: 'xAI',
    meaning: 'refused',
    phrase: /^Incorrect API key provided\b/i,
    source: `${github}/continuedev/continue/issues/10778`,
    seen: '2026-02',
  },
  {
    vendor: 'Groq',
    meaning: 'refused',
    word: /organization_restricted/,
    source: `${github}/songquanpeng/one-api/issues/1764`,
    seen: '2024-08',
  },
  {
    vendor: 'AWS',
    meaning: 'refused',
    word: /^(UnrecognizedClientException|InvalidSignatureException|InvalidClientTokenId|IncompleteSignature|MissingAuthenticationToken)\b/,
    source: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html',
    seen: '2026-11',
  },
  {
    // A key of Bedrock that is wrong or has ended.
    vendor: 'AWS',
    meaning: 'refused',
    phrase: /^Authentication failed: Please make sure your API Key is valid\b/,
    source: `${github}/anomalyco/opencode/issues/47073`,
    seen: '2026-09',
  },
  {
    // A key of Bedrock whose user may not call with keys any more: no model answers to it.
    vendor: 'AWS',
    meaning: 'refused',
    phrase: /^User: \S{1,300} is not authorized to perform: bedrock(-mantle)?:CallWithBearerToken\b/,
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-permissions.html',
    seen: '2026-11',
  },
  {
    // Also with 401, of a project of the account: the role may not use this model, and may use others.
    vendor: 'AWS',
    meaning: 'out-of-scope',
    phrase: /^User: \S{1,300} is not authorized to perform: (?!bedrock(-mantle)?:CallWithBearerToken\b)/,
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html',
    seen: '2026-11',
  },
  {
    // With 401: the identity is known, and its role does not have what this operation needs.
    vendor: 'Azure',
    meaning: 'out-of-scope',
    word: /(^| )PermissionDenied\b/,
    source: `${github}/microsoft/semantic-kernel/issues/6255`,
    seen: '2026-11',
  },
  {
    vendor: 'OpenAI',
    meaning: 'out-of-scope',
    phrase: /^You have insufficient permissions for this operation/,
    source: `${github}/microsoft/PowerToys/issues/32989`,
    seen: '2024-05',
  },
];
