// Azure OpenAI and Foundry: deployments of a resource, in the dialects of OpenAI and Anthropic.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import { claudeHeaders, firstVersion } from '../claude-headers.ts';
import type { HeadersFor } from '../headers.ts';
import { azureAddress } from './address.ts';
import { foundryBeta } from './betas.ts';
import { azureCredential } from './credential.ts';

const azureHeaders: HeadersFor = (ask, headers) =>
  ask.dialect === 'anthropic-messages' ? claudeHeaders(ask, headers, firstVersion, foundryBeta) : headers;

export const azureOpenAiSeats = {
  addressFor: azureAddress,
  credentialFor: azureCredential,
  framingFor: () => serverSentEvents,
  headersFor: azureHeaders,
};
