// Vertex AI: Gemini, Claude and models of other vendors in a project of Google Cloud.

import { serverSentEvents } from '../../dialects/events/framing.ts';
import { vertexAddress } from './address.ts';
import { vertexBody } from './body.ts';
import { vertexCredential } from './credential.ts';
import { vertexHeaders } from './headers.ts';

/** @param tokenUrl Another one in tests only. */
export function vertexSeats(tokenUrl = 'https://oauth2.googleapis.com/token') {
  return {
    addressFor: vertexAddress,
    credentialFor: vertexCredential(new URL(tokenUrl)),
    framingFor: () => serverSentEvents,
    bodyFor: vertexBody,
    headersFor: vertexHeaders,
  };
}
