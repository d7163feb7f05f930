// The Gemini API of Google AI Studio, in its own dialect or in OpenAI's.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import { geminiAddress } from './address.ts';
import { geminiBody } from './body.ts';
import { geminiKey } from './key.ts';

export const geminiSeats = {
  addressFor: geminiAddress,
  credentialFor: geminiKey,
  framingFor: () => serverSentEvents,
  bodyFor: geminiBody,
};
