/** Packed states, each with a number in the order in which they were added. */
export type StateTable = {
  /** True if the words are new. */
  add(words: Uint32Array): boolean
  /** The number of the state that was added or found last. */
  last(): number
  size(): number
  isAt(state: number, words: Uint32Array): boolean
}

/** Creates a hash table with open addressing in flat arrays. A state takes `width` + 2 to 4 words. */
export function createStateTable(width: number): StateTable {
  let stored = new Uint32Array(width * 4_096)
  let slots = new Int32Array(16_384).fill(-1)
  let size = 0
  let last = -1

  function isAt(state: number, words: Uint32Array): boolean {
    for (let i = 0; i < width; i++) if (stored[state * width + i] !== words[i]) return false
    return true
  }

  /** Returns the slot in which the words are, or in which they belong. */
  function slotOf(words: Uint32Array): number {
    const mask = slots.length - 1
    let slot = hash(words) & mask
    for (let state = at(slots, slot); state !== -1 && !isAt(state, words); state = at(slots, slot)) {
      slot = (slot + 1) & mask
    }
    return slot
  }

  function grow(): void {
    const words = new Uint32Array(stored.length * 2)
    words.set(stored)
    stored = words
    slots = new Int32Array(slots.length * 2).fill(-1)
    for (let state = 0; state < size; state++) {
      slots[slotOf(stored.subarray(state * width, (state + 1) * width))] = state
    }
  }

  return {
    add(words) {
      const slot = slotOf(words)
      last = at(slots, slot)
      if (last !== -1) return false
      last = size
      slots[slot] = size
      stored.set(words, size * width)
      size += 1
      if (size * width === stored.length) grow()
      return true
    },
    last: () => last,
    size: () => size,
    isAt,
  }
}

function hash(words: Uint32Array): number {
  let value = 0x811c_9dc5
  for (const word of words) {
    value = Math.imul(value ^ word, 0x85eb_ca6b)
    value ^= value >>> 15
  }
  value = Math.imul(value, 0xc2b2_ae35)
  return (value ^ (value >>> 16)) >>> 0
}

/** A growing list of 32-bit numbers. */
export function createNumbers() {
  let numbers = new Int32Array(16_384)
  let length = 0
  return {
    push(number: number): void {
      if (length === numbers.length) {
        const longer = new Int32Array(length * 2)
        longer.set(numbers)
        numbers = longer
      }
      numbers[length] = number
      length += 1
    },
    length: () => length,
    all: () => numbers.subarray(0, length),
  }
}

/** Returns the number at an index that is known to be within the array. */
export function at(numbers: Int32Array, index: number): number {
  return numbers[index] ?? 0
}

/** Adds to a number in place and returns the sum. */
export function add(numbers: Int32Array, index: number, amount = 1): number {
  const sum = at(numbers, index) + amount
  numbers[index] = sum
  return sum
}
