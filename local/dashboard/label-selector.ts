// Which objects does a labelSelector mean? As the API server reads it in an address: `a=b,c!=d,e in (f,g),!h`. Pure.

type Labels = Readonly<Record<string, unknown>>;
type Requirement = (labels: Labels) => boolean;

const inSet = /^([\w./-]+)\s+(in|notin)\s+\(([\w.,\s-]*)\)$/;
const equality = /^([\w./-]+)\s*(==|=|!=)\s*([\w.-]*)$/;
const presence = /^(!?)\s*([\w./-]+)$/;

/** Undefined: it cannot be read. */
export function parseLabelSelector(text: string): Requirement | undefined {
  const parts = text.split(/,(?![^(]*\))/).flatMap((part) => part.trim() || []);
  const requirements = parts.map(parseRequirement);
  if (requirements.some((one) => one === undefined)) return undefined;
  return (labels) => requirements.every((one) => one?.(labels));
}

function parseRequirement(text: string): Requirement | undefined {
  const [, setLabel, setWay, set] = inSet.exec(text) ?? [];
  if (setLabel !== undefined) {
    const values = (set ?? '').split(',').map((value) => value.trim());
    return (labels) => values.includes(String(labels[setLabel] ?? '\n')) === (setWay === 'in');
  }
  const [, label, way, value = ''] = equality.exec(text) ?? [];
  if (label !== undefined) return (labels) => (labels[label] === value) === (way !== '!=');
  const [, not, present] = presence.exec(text) ?? [];
  if (present !== undefined) return (labels) => Object.hasOwn(labels, present) === (not === '');
  return undefined;
}
