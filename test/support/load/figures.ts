// What is a load reported, and what does it tell?

import { z } from 'zod';

export const loadPlanSchema = z.object({
  /** Of the gateways' Service, or of each gateway; called in turn. Without `/v1`. */
  urls: z.array(z.string()).min(1),
  key: z.string(),
  requestsPerSecond: z.number(),
  /** Open at any time. */
  streams: z.int(),
  /** Asked for by requests, and by streams. */
  models: z.object({ request: z.string(), stream: z.string() }),
});
export type LoadPlan = z.infer<typeof loadPlanSchema>;

export const loadFiguresSchema = z.object({
  requests: z.int(),
  failed: z.int(),
  /** Since 1970; 0 where none failed. */
  lastFailedBeganMs: z.number(),
  /** Begun; each came to its end or was cut. */
  streams: z.int(),
  cut: z.int(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  maxMs: z.number(),
  /** The longest silence inside a stream. */
  worstGapMs: z.number(),
  seconds: z.number(),
  /** Of what failed, with counts. */
  reasons: z.array(z.string()),
});
export type LoadFigures = z.infer<typeof loadFiguresSchema>;
