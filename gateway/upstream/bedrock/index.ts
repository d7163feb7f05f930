// AWS Bedrock: models of many vendors at the host of a region.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import type { UpstreamAsk } from '../address.ts';
import { staticKey } from '../credential.ts';
import { bedrockAddress } from './address.ts';
import { bedrockBody } from './body.ts';
import { eventStream } from './event-stream.ts';

export const bedrockSeats = {
  addressFor: bedrockAddress,
  credentialFor: staticKey,
  framingFor: ({ dialect }: UpstreamAsk) => (dialect === 'bedrock-converse' ? eventStream : serverSentEvents),
  bodyFor: bedrockBody,
};
