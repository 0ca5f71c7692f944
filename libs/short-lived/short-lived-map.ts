/** Refers to a value until the value is deleted. */
type Box<Value> = { value: Value | null }

/**
 * A Map for values that come and go, such as the values of requests. When a Map outgrows its table, V8 links the old
 * table to the next table. Once an old table is in the old generation of V8's heap, it keeps all later tables and their
 * values alive until the next full collection, even if the old table itself is garbage. Each request's objects are then
 * copied twice by collections that should have freed them. In this Map, a table refers only to boxes, and the box of a
 * deleted value is empty.
 */
export class ShortLivedMap<Key extends string | number, Value extends object> {
  readonly #boxes = new Map<Key, Box<Value>>()

  get size(): number {
    return this.#boxes.size
  }

  has(key: Key): boolean {
    return this.#boxes.has(key)
  }

  get(key: Key): Value | undefined {
    return this.#boxes.get(key)?.value ?? undefined
  }

  set(key: Key, value: Value): void {
    const box = this.#boxes.get(key)
    if (box === undefined) this.#boxes.set(key, { value })
    else box.value = value
  }

  /** Returns true if the key was there. */
  delete(key: Key): boolean {
    const box = this.#boxes.get(key)
    if (box === undefined) return false
    box.value = null
    return this.#boxes.delete(key)
  }

  keys(): MapIterator<Key> {
    return this.#boxes.keys()
  }

  /** Yields the values in the order in which their keys were set. */
  *values(): Generator<Value, void> {
    for (const { value } of this.#boxes.values()) if (value !== null) yield value
  }

  *[Symbol.iterator](): Generator<[Key, Value], void> {
    for (const [key, { value }] of this.#boxes) if (value !== null) yield [key, value]
  }
}
