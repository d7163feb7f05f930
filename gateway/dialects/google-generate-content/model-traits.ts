// What does a Gemini model take that its sisters refuse? Read off its name, which says generation and size; a tuned model's name says
// neither. Sources: ai.google.dev/gemini-api/docs/{thinking,
// thought-signatures,function-calling,structured-output}, read 2026-11.

export interface ModelTraits {
  /** Takes system text beside the turns. */
  readonly takesSystem: boolean;
  /** How the effort of thinking is set; undefined: it cannot be set. */
  readonly thinking: ThinkingTraits | undefined;
  /** Refuses the first call of a turn without a thought signature. */
  readonly wantsSignatures: boolean;
  /** Whether a call and its result carry an id: `never`, `always`, or `echo` where the upstream has given one. */
  readonly callIds: 'never' | 'always' | 'echo';
  /** Takes JSON Schema; else Google's smaller schema language. */
  readonly takesJsonSchema: boolean;
  /** Takes functions beside a form of the answer, and beside web search. */
  readonly combinesTools: boolean;
  /** Takes images and files in the result of a function. */
  readonly takesResultMedia: boolean;
  readonly takesPenalties: boolean;
}

export type ThinkingTraits =
  | { readonly by: 'budget'; readonly min: number; readonly max: number; readonly canBeOff: boolean }
  | { readonly by: 'level'; readonly levels: readonly ThinkingLevel[] };

export type ThinkingLevel = 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH' | 'XHIGH';

export function traitsOf(upstreamModel: string): ModelTraits {
  const name = upstreamModel.slice(upstreamModel.lastIndexOf('/') + 1).toLowerCase();
  const generation = generationOf(name);
  // An unknown model is taken for the newest generation: old models are switched off.
  const since = generation ?? newest;
  return {
    takesSystem: !name.startsWith('gemma'),
    thinking: name.startsWith('gemma') ? undefined : thinkingOf(name, generation),
    wantsSignatures: generation !== undefined && generation >= 3,
    callIds:
      generation === undefined ? 'echo' : generation < 3 ? 'never' : generation >= 3.5 ? 'always' : 'echo',
    takesJsonSchema: since >= 2.5,
    combinesTools: since >= 3,
    takesResultMedia: since >= 3,
    takesPenalties: generation !== 2.5,
  };
}

const newest = 99;

/** The newest for an alias such as `gemini-flash-latest`; undefined if the name has no generation. */
function generationOf(name: string): number | undefined {
  const [, version] = /^gemini-(\d+(?:\.\d+)?)(?![\d.])/.exec(name) ?? [];
  if (version !== undefined) return Number(version);
  return /^gemini-.*-latest$/.test(name) ? newest : undefined;
}

function thinkingOf(name: string, generation: number | undefined): ThinkingTraits | undefined {
  if (generation === undefined || generation < 2.5) return undefined;
  if (generation < 3) {
    if (name.includes('pro')) return { by: 'budget', min: 128, max: 32_768, canBeOff: false };
    return { by: 'budget', min: name.includes('lite') ? 512 : 1, max: 24_576, canBeOff: true };
  }
  const lowest: readonly ThinkingLevel[] =
    name.includes('pro') || generation >= 3.7 ? ['LOW'] : ['MINIMAL', 'LOW'];
  const highest: readonly ThinkingLevel[] = /^gemini-4-hydrogen/.test(name) ? ['HIGH', 'XHIGH'] : ['HIGH'];
  return { by: 'level', levels: [...lowest, 'MEDIUM', ...highest] };
}
