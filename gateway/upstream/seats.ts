// How do requests travel to providers of a type: to which address, signed in with what, answered in which framing? A provider type
// that does not differ from the others needs no row; one that does is a folder beside this file, and a row here.

import { type Framing, serverSentEvents } from '../dialects/events/framing.ts';
import type { ProviderView } from '../table/view.ts';
import { type AddressFor, dialectAddress, type UpstreamAsk } from './address.ts';
import { azureOpenAiSeats } from './azure-openai/index.ts';
import { bedrockSeats } from './bedrock/index.ts';
import type { BodyFor } from './body.ts';
import { type CredentialFor, staticKey } from './credential.ts';
import { geminiSeats } from './gemini/index.ts';
import type { HeadersFor } from './headers.ts';
import { vertexSeats } from './vertex-ai/index.ts';

export interface UpstreamSeats {
  readonly addressFor: AddressFor;
  readonly credentialFor: CredentialFor;
  readonly framingFor: (ask: UpstreamAsk) => Framing;
  /** Absent: bodies go as their dialect wrote them. */
  readonly bodyFor?: BodyFor;
  /** Absent: headers go as their dialect and the client wrote them. */
  readonly headersFor?: HeadersFor;
}

/** By the type of the Provider; `plainSeats` for all others. */
export type SeatRows = ReadonlyMap<string, UpstreamSeats>;

export const seatRows: SeatRows = new Map<string, UpstreamSeats>([
  ['AzureOpenAI', azureOpenAiSeats],
  ['Bedrock', bedrockSeats],
  ['Gemini', geminiSeats()],
  ['VertexAI', vertexSeats()],
]);

export const plainSeats: UpstreamSeats = {
  addressFor: dialectAddress,
  credentialFor: staticKey,
  framingFor: () => serverSentEvents,
};

export function seatsOf(rows: SeatRows | undefined, { entry }: ProviderView): UpstreamSeats {
  return rows?.get(entry.type) ?? plainSeats;
}
