// What is open now, in no order?

/**
 * An array, not a Set: tables that a Set has outgrown keep what they held until a full collection, and with every request all it refers
 * to (measured: 7 KB a request).
 */
export class OpenList<Item extends { place: number }> {
  readonly items: Item[] = [];

  add(item: Item): void {
    item.place = this.items.push(item) - 1;
  }

  /** False: it is not among them. */
  remove(item: Item): boolean {
    const { items } = this;
    const { place } = item;
    if (items[place] !== item) return false;
    const last = items.pop();
    if (last !== undefined && last !== item) {
      items[place] = last;
      last.place = place;
    }
    item.place = -1;
    return true;
  }
}
