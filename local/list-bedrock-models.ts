// Which models does Bedrock offer to an API key in a region? By their own id where that can be called, and by the inference profiles of their
// geographies. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_ListFoundationModels.html

import { z } from 'zod';

const modelsSchema = z.object({
  modelSummaries: z.array(
    z.object({ modelId: z.string(), inferenceTypesSupported: z.array(z.string()).optional() }),
  ),
});

const profilesSchema = z.object({
  inferenceProfileSummaries: z.array(z.object({ inferenceProfileId: z.string() })),
});

/** @param ask The body of an answer at a path. Throws without an answer. */
export async function listBedrockModels(ask: (path: string) => Promise<unknown>): Promise<readonly string[]> {
  // The others give pictures or vectors.
  const models = read(modelsSchema, await ask('/foundation-models?byOutputModality=TEXT')).modelSummaries;
  // More than there are.
  const path = '/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED';
  const profiles = read(profilesSchema, await ask(path)).inferenceProfileSummaries;
  const ids = new Set(models.map(({ modelId }) => modelId));
  return [
    ...models.flatMap(({ modelId, inferenceTypesSupported }) =>
      inferenceTypesSupported?.includes('ON_DEMAND') ? [modelId] : [],
    ),
    ...profiles.flatMap(({ inferenceProfileId: id }) => (ids.has(id.replace(/^[^.]+\./, '')) ? [id] : [])),
  ];
}

function read<List>(schema: z.ZodType<List>, body: unknown): List {
  const { data } = schema.safeParse(body);
  if (data === undefined) throw new Error('its answer has no list of models');
  return data;
}
