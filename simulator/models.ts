// Which models does the simulator list? One body that both the OpenAI and the Anthropic SDK can read.

/** The body of GET /v1/models. */
export function modelList(ids: string[], createdS: number): Record<string, unknown> {
  return {
    object: 'list',
    data: ids.map((id) => modelEntry(id, createdS)),
    has_more: false,
    first_id: ids.at(0) ?? null,
    last_id: ids.at(-1) ?? null,
  };
}

/** The body of GET /v1/models/{id}. */
export function modelEntry(id: string, createdS: number): Record<string, unknown> {
  return {
    id,
    object: 'model',
    created: createdS,
    owned_by: 'simulator',
    type: 'model',
    display_name: `Simulator ${id}`,
    created_at: new Date(createdS * 1000).toISOString(),
  };
}
