// Vertex AI: Gemini, Claude and models of other vendors in a project of Google Cloud.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import { googleCredential } from '../identity/google/credential.ts';
import { type GoogleServices, googleServices } from '../identity/google/services.ts';
import { vertexAddress } from './address.ts';
import { vertexBody } from './body.ts';
import { vertexHeaders } from './headers.ts';

/** @param services Others in tests only. */
export function vertexSeats(services: GoogleServices = googleServices) {
  return {
    addressFor: vertexAddress,
    credentialFor: googleCredential(services),
    framingFor: () => serverSentEvents,
    bodyFor: vertexBody,
    headersFor: vertexHeaders,
  };
}
