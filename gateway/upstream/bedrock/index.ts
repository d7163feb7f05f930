// AWS Bedrock: models of many vendors at the host of a region.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import { staticKey } from '../credential.ts';
import { bedrockAddress } from './address.ts';
import { bedrockBody } from './body.ts';

export const bedrockSeats = {
  addressFor: bedrockAddress,
  credentialFor: staticKey,
  framingFor: () => serverSentEvents,
  bodyFor: bedrockBody,
};
