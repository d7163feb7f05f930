// What do refusals of Entra ID mean, and what is to do? By the numbers that it gives them (AADSTS).
// https://learn.microsoft.com/entra/identity-platform/reference-error-codes

import type { RefusalWords } from '../refusals.ts';

const noCredential =
  "No federated credential of the app fits the pod's token. Compare issuer, subject and audience, case included; new ones take minutes.";
const outOfTime =
  "The pod's token has expired or is not valid yet. Check that kubelet renews the projected file, and the clock of its node.";
const noApp =
  'The app does not exist in the tenant. Correct auth.azure.clientID or tenantID, or AZURE_CLIENT_ID.';
const noTenant = 'The tenant does not exist. Correct auth.azure.tenantID, or AZURE_TENANT_ID.';
const noScope =
  'Entra gives no token for the scope. Correct auth.azure.scope, as in https://ai.azure.com/.default.';
const noCertificate =
  'The app does not know the certificate, or it has expired. Upload the one in the Secret to the app.';

const byNumber: readonly RefusalWords[] = [
  ...['70021', '700211', '700212', '700213'].map((code) => ({ code, words: noCredential })),
  { code: '700024', words: outOfTime },
  { code: '700016', words: noApp },
  { code: '7000229', words: 'The app has no service principal in the tenant. Create it there.' },
  ...['90002', '900023'].map((code) => ({ code, words: noTenant })),
  ...['500011', '70011', '1002012'].map((code) => ({ code, words: noScope })),
  {
    code: '7000215',
    words: "The client secret is wrong. Write the secret's value, not its id, into the Secret.",
  },
  {
    code: '7000222',
    words: 'The client secret has expired. Create another one, and write it into the Secret.',
  },
  ...['700027', '7000213'].map((code) => ({ code, words: noCertificate })),
  { code: '700023', words: 'The signed assertion is for another authority. Correct AZURE_AUTHORITY_HOST.' },
  { code: '53003', words: 'A Conditional Access policy blocks the app. Exclude the workload in it.' },
];

export const entraRefusals = byNumber.map((row) => ({ ...row, code: `AADSTS${row.code}` }));
