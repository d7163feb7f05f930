// Which headers of messages does Vertex AI take? Betas; the version is in the body.

import { claudeHeaders } from '../claude-headers.ts';
import type { HeadersFor } from '../headers.ts';

export const vertexHeaders: HeadersFor = ({ dialect }, headers) =>
  dialect === 'anthropic-messages' ? claudeHeaders(headers, undefined) : [...headers];
