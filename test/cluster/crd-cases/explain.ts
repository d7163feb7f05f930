// What does `kubectl explain` say of every field of a kind? Walks down as a person would, one object after another.

import type { ControlPlane } from '../control-plane.ts';

/** Text, without its spaces, by path such as `spec.auth.keys.name`; what lies below `metadata` is not ours. */
export async function explain(plane: ControlPlane, kind: string, path = ''): Promise<Map<string, string>> {
  const name = path === '' ? kind : `${kind}.${path}`;
  const fields = fieldsIn(await plane.mustKubectl(['explain', name]));
  const found = new Map<string, string>();
  const below: Promise<Map<string, string>>[] = [];
  for (const { field, type, text } of fields) {
    const own = path === '' ? field : `${path}.${field}`;
    found.set(own, text);
    if (/^(\[\])*Object$/.test(type)) below.push(explain(plane, kind, own));
  }
  for (const inner of await Promise.all(below)) for (const [own, text] of inner) found.set(own, text);
  return found;
}

/** Lines `  name<tab><type> …`, sometimes with the values of an enum below, then the text, further in, broken anywhere. */
function fieldsIn(output: string): { field: string; type: string; text: string }[] {
  const [, listed = ''] = output.split('\nFIELDS:\n');
  return listed.split(/^(?= {2}\S+\t<)/m).flatMap((block) => {
    const [head = '', ...lines] = block.split('\n');
    const [, field, type] = /^ {2}(\S+)\t<([^>]+)>/.exec(head) ?? [];
    const text = lines.filter((line) => line.startsWith('    '));
    return field === undefined || type === undefined
      ? []
      : [{ field, type, text: text.join('').replaceAll(/\s/g, '') }];
  });
}
