// Azure OpenAI and Foundry: deployments of a resource, in the dialects of OpenAI and Anthropic.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import { azureAddress } from './address.ts';
import { azureCredential } from './credential.ts';

export const azureOpenAiSeats = {
  addressFor: azureAddress,
  credentialFor: azureCredential,
  framingFor: () => serverSentEvents,
};
