import { FAULTS, MOST_LOST_WRITES, type State, type Store, type Worker, type WorkerName } from './state.ts'

/** 32-bit words of a packed state. */
export const STATE_WORDS = 7

/**
 * Writes a state into `words`. Two states that differ only in which worker is called 0 have the same words, which
 * halves the states to visit. `bad` is left out, because a state that has it is not explored.
 */
export function packState(state: State, words: Uint32Array): void {
  const order = packWorker(state.workers[0]) - packWorker(state.workers[1])
  if (order !== 0) return pack(state, words, { swap: order > 0 })
  pack(state, words, { swap: false })
  pack(state, swapped, { swap: true })
  if (isLess(swapped, words)) words.set(swapped)
}

const swapped = new Uint32Array(STATE_WORDS)

function isLess(left: Uint32Array, right: Uint32Array): boolean {
  for (let i = 0; i < STATE_WORDS; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

function pack(state: State, words: Uint32Array, { swap }: { swap: boolean }): void {
  const { gateway, earlier, delayedEnqueue, left, workers } = state
  const [first, second] = swap ? [workers[1], workers[0]] : workers
  words[0] = packWorker(first) * 65_536 + packWorker(second)
  words[1] = packStore(state.store, swap)
  for (let i = 0; i < MOST_LOST_WRITES; i++) {
    const store = earlier[i]
    words[2 + i] = store === undefined ? 0xffff_ffff : packStore(store, swap)
  }
  let word: number = GATEWAY[gateway.doing]
  word = word * 8 + gateway.epoch
  word = word * 4 + packName(gateway.worker, swap)
  word = word * 2 + Number(gateway.fromAnew)
  word = word * 4 + gateway.accepted
  word = word * 4 + gateway.delivered
  word = word * 4 + gateway.ids
  word = word * 4 + gateway.deaths
  word = word * 4 + (gateway.due ?? 3)
  word = word * 8 + (gateway.keptUnder ?? 7)
  words[4] = word * 8 + gateway.run
  word = Number(gateway.enqueueWanted) * 4 + Number(gateway.fencePending) * 2 + Number(gateway.settling)
  word = word * 8 + state.run
  word = word * 8 + (state.mark ?? 7)
  word = word * 4 + (state.billed ?? 3)
  word = word * 4 + Number(state.keyMissing) * 2 + Number(state.misjudged)
  word = word * 4 + state.jobs
  word = word * 8 + (delayedEnqueue?.epoch ?? 0)
  words[5] = word * 4 + (delayedEnqueue?.ids ?? 0)
  word = left.total
  for (const fault of FAULTS) word = word * 4 + left[fault]
  words[6] = word
}

const GATEWAY = { open: 0, over: 1, dead: 2 } as const
const DOING = {
  idle: 0,
  claiming: 1,
  running: 2,
  ended: 3,
  'handed-back': 4,
  present: 5,
  suspect: 6,
} as const

/** The first settlement, and one more after each failover. */
const MOST_ENTRIES = 3

/** Packs a worker into 16 bits. */
function packWorker({ up, doing, epoch, after, made, outdated, ran, anew }: Worker): number {
  let word = DOING[doing] * 2 + Number(up)
  word = word * 8 + epoch
  word = word * 3 + after
  word = word * 3 + made
  word = word * 8 + ran
  return word * 4 + Number(outdated) * 2 + Number(anew)
}

/** Packs the store into 31 bits. */
function packStore({ record, stream, over }: Store, swap: boolean): number {
  if (stream.length > MOST_ENTRIES) throw new Error('more settlements than a packed store holds')
  let word = Number(over) * 4 + stream.length
  for (let i = 0; i < MOST_ENTRIES; i++) {
    const entry = stream[i]
    word = word * 6 + (entry === undefined ? 0 : entry.usage * 2 + Number(entry.by === 'worker'))
  }
  if (record === null) return word * 2
  const [first, second] = swap ? [record.given[1], record.given[0]] : record.given
  word = word * 8 + record.epoch
  word = word * 4 + packName(record.worker, swap)
  word = word * 4 + (record.settled ?? 3)
  word = word * 3 + record.ids
  word = word * 8 + first
  word = word * 8 + second
  return word * 4 + Number(record.waiting) * 2 + 1
}

function packName(name: WorkerName | null, swap: boolean): number {
  if (name === null) return 2
  if (name === 'gone') return 3
  return swap ? 1 - name : name
}
