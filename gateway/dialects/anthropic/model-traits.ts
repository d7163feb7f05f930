// What does a model of this dialect take? Read off its name: upstreams do not tell. Models of other
// vendors behind this dialect follow its older form.
//
// These rules distinguish releases of the vendor's models; remove them together with the older models.

export interface ModelTraits {
  /** As much as it sees fit, led by an effort; or up to a budget of tokens. */
  readonly thinks: 'adaptive' | 'budget' | 'never';
  /** The efforts it knows; empty if it takes none. */
  readonly efforts: readonly string[];
  /** Takes temperature, top-p and top-k. */
  readonly takesSampling: boolean;
  /** Can be made to call a tool. */
  readonly takesForcedCalls: boolean;
  /** Is held to a schema by its upstream; else by a tool, see `answer-tool.ts`. */
  readonly takesSchemas: boolean;
  /** Takes system messages between the turns. */
  readonly takesLaterSystem: boolean;
  /** Goes on with a last message of the assistant's, if nothing else of the request forbids it. */
  readonly takesPrefill: boolean;
}

/** @param schemas See the provider's `messagesSchemas` in the routing table. */
export function traitsOf(model: string, schemas?: 'by-tool'): ModelTraits {
  const release = releaseOf(model);
  if (release === undefined) {
    return {
      thinks: 'budget',
      efforts: [],
      takesSampling: true,
      takesForcedCalls: true,
      takesSchemas: false,
      takesLaterSystem: false,
      takesPrefill: true,
    };
  }
  return {
    thinks: release >= 406 ? 'adaptive' : release >= 307 ? 'budget' : 'never',
    efforts: release >= 407 ? [...efforts, 'xhigh', 'max'] : release >= 406 ? [...efforts, 'max'] : [],
    takesSampling: release <= 406,
    takesForcedCalls: release <= 500,
    takesSchemas: schemas !== 'by-tool' && release >= 401 && !(release >= 407 && isAtBedrock(model)),
    takesLaterSystem: release >= 408,
    takesPrefill: release < 406,
  };
}

/** There newer models refuse `output_config.format`. */
function isAtBedrock(model: string): boolean {
  return /(?:^|[./])anthropic\./.test(model);
}

const efforts = ['low', 'medium', 'high'];

/** `claude-opus-4-8`, `anthropic.claude-3-7-sonnet-20250219-v1:0`, `claude-sonnet-4.5`, `claude-sonnet-4@20250514`. */
const named = /claude(?:-[a-z]+)*-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/;

/** Claude's release: 408 for 4.8, the newest if the name does not say; undefined for other models. */
function releaseOf(model: string): number | undefined {
  const name = model.toLowerCase();
  if (!name.includes('claude')) return undefined;
  const [, major, minor] = named.exec(name) ?? [];
  return major === undefined ? Number.POSITIVE_INFINITY : Number(major) * 100 + Number(minor ?? 0);
}

/** The nearest effort that the model knows. */
export function fitEffort(effort: string, { efforts }: ModelTraits): string | undefined {
  if (efforts.length === 0) return undefined;
  if (efforts.includes(effort)) return effort;
  return effort === 'minimal' ? 'low' : 'high';
}
