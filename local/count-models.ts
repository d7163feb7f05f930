// How many models, in words?

export function countModels(count: number): string {
  return `${count} ${count === 1 ? 'model' : 'models'}`;
}
