import { ShortLivedMap } from './short-lived-map.ts'

/** A set of objects that come and go; see `ShortLivedMap`. */
export class ShortLivedSet<Item extends object> {
  readonly #items = new ShortLivedMap<number, Item>()
  #added = 0

  get size(): number {
    return this.#items.size
  }

  /** Returns the number with which the item can be deleted. An item that was added twice is in the set twice. */
  add(item: Item): number {
    this.#added += 1
    this.#items.set(this.#added, item)
    return this.#added
  }

  /** Returns true if the item was there. */
  delete(number: number): boolean {
    return this.#items.delete(number)
  }

  /** Yields the items in the order in which they were added. */
  [Symbol.iterator](): Generator<Item, void> {
    return this.#items.values()
  }
}
