// Which of the vendor's tools does the client run itself, and what do they take? Elsewhere they go as functions: what comes
// back is a call by the tool's name with this very input, as the vendor's own models give it.
// Anthropic documentation, "Bash tool", "Text editor tool" and "Memory tool", 2026-11.

import type { Tool } from '../conversation.ts';

type Form = Required<Pick<Tool, 'description' | 'schema'>>;

const text = (description: string) => ({ type: 'string', description });
const line = (description: string) => ({ type: 'integer', description });
const command = (...names: string[]) => ({ type: 'string', enum: names });
const viewRange = {
  type: 'array',
  items: { type: 'integer' },
  description: 'Of view: the first and the last line, from 1; -1 is the last line of the file.',
};

const bash: Form = {
  description:
    'Runs a command in a bash session that stays open between calls. Each call needs a command, or restart.',
  schema: {
    type: 'object',
    properties: {
      command: text('The command to run.'),
      restart: { type: 'boolean', description: 'True starts a new session.' },
    },
  },
};

const edits = {
  path: text('The file or directory.'),
  file_text: text('Of create: what the file holds.'),
  old_str: text('Of str_replace: the text to replace. It must occur exactly once.'),
  insert_line: line('Of insert: the line after which the text goes; 0 is the beginning of the file.'),
  view_range: viewRange,
};

// Clients read the inserted text under the newer name or the older one.
const editor = (...commands: string[]): Form => ({
  description: 'Views, creates and edits text files.',
  schema: {
    type: 'object',
    properties: {
      command: command(...commands),
      ...edits,
      new_str: text('Of str_replace: the new text. Of insert: the same as insert_text.'),
      insert_text: text('Of insert: the text to insert.'),
    },
    required: ['command', 'path'],
  },
});

const editorCommands = ['view', 'create', 'str_replace', 'insert'];

const memory: Form = {
  description:
    'Keeps notes between conversations as files below /memories. View the directory before you begin a task.',
  schema: {
    type: 'object',
    properties: {
      command: command('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      ...edits,
      new_str: text('Of str_replace: the new text.'),
      insert_text: text('Of insert: the text to insert.'),
      old_path: text('Of rename: the path so far.'),
      new_path: text('Of rename: the new path.'),
    },
    required: ['command'],
  },
};

/** By what a type begins with; the date of a release follows. */
const forms: readonly (readonly [prefix: string, form: Form])[] = [
  ['bash_', bash],
  // The two oldest releases can undo.
  ['text_editor_20241022', editor(...editorCommands, 'undo_edit')],
  ['text_editor_20250124', editor(...editorCommands, 'undo_edit')],
  ['text_editor_', editor(...editorCommands)],
  ['memory_', memory],
];

/** Undefined for tools that the provider runs, and for those whose inputs are not published. */
export function clientToolForm(type: string): Form | undefined {
  return forms.find(([prefix]) => type.startsWith(prefix))?.[1];
}

/** Client-run too, but its clicks need a model that was trained on this very tool. */
export function isComputer(type: string): boolean {
  return type.startsWith('computer_');
}
