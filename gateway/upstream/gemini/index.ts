// The Gemini API of Google AI Studio, in its own dialect or in OpenAI's.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import { type GoogleServices, googleServices } from '../identity/google/services.ts';
import { geminiAddress } from './address.ts';
import { geminiBody } from './body.ts';
import { geminiCredential } from './credential.ts';

/** @param services Others in tests only. */
export function geminiSeats(services: GoogleServices = googleServices) {
  return {
    addressFor: geminiAddress,
    credentialFor: geminiCredential(services),
    framingFor: () => serverSentEvents,
    bodyFor: geminiBody,
  };
}
