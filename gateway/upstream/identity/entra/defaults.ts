// From which authority, and for which scope, does an Azure resource want tokens? Derived from its host, unless the Provider says it.

const authorities = {
  com: 'https://login.microsoftonline.com/',
  us: 'https://login.microsoftonline.us/',
  cn: 'https://login.chinacloudapi.cn/',
};

type AzureCloud = keyof typeof authorities;

/**
 * @param host Of the resource.
 * @param ofPlatform What the platform says; of a resource in a national cloud only that cloud's authority gives tokens.
 * @returns An address with a slash at its end.
 */
export function authorityOf(host: string, ofPlatform: string | undefined): string {
  const cloud = cloudOf(host);
  if (ofPlatform === undefined || cloud !== 'com') return authorities[cloud];
  return ofPlatform.endsWith('/') ? ofPlatform : `${ofPlatform}/`;
}

/** Projects of Foundry take tokens for their own audience alone: https://github.com/microsoft/agent-framework/issues/7201. */
export function scopeOf(host: string, basePath: string): string {
  const isProject = basePath.startsWith('/api/projects/');
  return isProject
    ? 'https://ai.azure.com/.default'
    : `https://cognitiveservices.azure.${cloudOf(host)}/.default`;
}

function cloudOf(host: string): AzureCloud {
  const [, cloud] = /\.azure\.(us|cn)(?::\d+)?$/.exec(host) ?? [];
  return cloud === 'us' || cloud === 'cn' ? cloud : 'com';
}
