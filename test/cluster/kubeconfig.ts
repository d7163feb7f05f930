// How is it written down where a server is and who asks it?

import { stringify } from 'yaml';

export function tokenKubeconfig(at: {
  url: string;
  ca: string;
  token: string;
  namespace?: string | undefined;
}): string {
  const { namespace } = at;
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'test',
        cluster: { server: at.url, 'certificate-authority-data': Buffer.from(at.ca).toString('base64') },
      },
    ],
    users: [{ name: 'test', user: { token: at.token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', ...(namespace && { namespace }) } }],
    'current-context': 'test',
  });
}
