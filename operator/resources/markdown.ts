// How does a table look in our generated pages?

export function table(head: readonly string[], rows: readonly string[]): string[] {
  return [row(head), row(head.map(() => '---')), ...rows, ''];
}

export function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}

export function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}
