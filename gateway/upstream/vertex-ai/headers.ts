// Which headers of messages does Vertex AI take? Its betas; the version is in the body.

import { claudeHeaders } from '../claude-headers.ts';
import type { HeadersFor } from '../headers.ts';
import { vertexBeta } from './betas.ts';

export const vertexHeaders: HeadersFor = (ask, headers) =>
  ask.dialect === 'anthropic-messages' ? claudeHeaders(ask, headers, undefined, vertexBeta) : headers;
