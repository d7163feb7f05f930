// AWS Bedrock: models of many vendors at the host of a region.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import type { UpstreamAsk } from '../address.ts';
import { claudeHeaders, firstVersion } from '../claude-headers.ts';
import type { HeadersFor } from '../headers.ts';
import { bedrockAddress } from './address.ts';
import { bedrockBeta } from './betas.ts';
import { bedrockBody } from './body.ts';
import { bedrockCredential } from './credential.ts';
import { eventStream } from './event-stream.ts';

const bedrockHeaders: HeadersFor = (ask, headers) =>
  ask.dialect === 'anthropic-messages' ? claudeHeaders(ask, headers, firstVersion, bedrockBeta) : headers;

export const bedrockSeats = {
  addressFor: bedrockAddress,
  credentialFor: bedrockCredential,
  framingFor: ({ dialect }: UpstreamAsk) => (dialect === 'bedrock-converse' ? eventStream : serverSentEvents),
  bodyFor: bedrockBody,
  headersFor: bedrockHeaders,
};
