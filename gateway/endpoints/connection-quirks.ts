// What do SDKs and proxies call an address of an upstream in a body? One row for each program, with where it was seen; names are folded.

interface ConnectionQuirk {
  readonly program: string;
  /** An address, or a list of such. */
  readonly names: readonly string[];
  /** Members whose own members, or those of their entries, it takes for members of the body. */
  readonly wrappers: readonly string[];
  readonly source: string;
  /** Month in which it was written there. */
  readonly seen: string;
}

const connectionQuirks: readonly ConnectionQuirk[] = [
  {
    program: 'LiteLLM',
    names: [
      'api_base',
      'base_url',
      'aws_bedrock_runtime_endpoint',
      'aws_sts_endpoint',
      's3_endpoint_url',
      'sagemaker_base_url',
      'deployment_url',
      'user_config',
    ],
    wrappers: [
      'litellm_params',
      'litellm_embedding_config',
      'fallbacks',
      'context_window_fallbacks',
      'content_policy_fallbacks',
      'model_list',
    ],
    source: 'https://github.com/BerriAI/litellm/pull/29538 and docs.litellm.ai/docs/proxy/clientside_auth',
    seen: '2026-06',
  },
  {
    program: "SDKs of OpenAI and Azure, and others' spellings of the same",
    names: ['apibase', 'api_base_url', 'baseurl', 'azure_endpoint'],
    wrappers: ['extra_body'],
    source: 'not recorded',
    seen: '2026-11',
  },
];

export const connectionNames: ReadonlySet<string> = new Set(connectionQuirks.flatMap(({ names }) => names));
export const wrappers: ReadonlySet<string> = new Set(connectionQuirks.flatMap(({ wrappers }) => wrappers));
