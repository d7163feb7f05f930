// Which columns does `kubectl get` show?

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** 1: only with `-o wide`. */
  readonly priority?: 1;
}

export function conditionColumn(type: string): Column {
  return {
    name: type,
    type: 'string',
    jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
    description: `Status of the condition ${type}.`,
  };
}

export const stateColumn: Column = {
  name: 'State',
  type: 'string',
  jsonPath: '.status.state',
  description: 'The most severe current state, in one word.',
};

export const untilColumn: Column = {
  name: 'Until',
  type: 'string',
  jsonPath: '.status.until',
  description: 'When the state ends automatically.',
  priority: 1,
};

export const programmedColumns: readonly Column[] = [
  {
    name: 'Programmed',
    type: 'integer',
    jsonPath: '.status.programmed.runningPods',
    description: 'Ready gateway pods that run the current form.',
    priority: 1,
  },
  {
    name: 'Pods',
    type: 'integer',
    jsonPath: '.status.programmed.readyPods',
    description: 'Gateway pods that are ready.',
    priority: 1,
  },
];

export const reasonColumn: Column = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  description: 'Reason of the condition Ready.',
  priority: 1,
};

/** Last: it is longer than the others, and empty while all is well. */
export function messageColumn(jsonPath: string, description: string): Column {
  return { name: 'Message', type: 'string', jsonPath, description };
}

export const ageColumn: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation.',
};
