import { expect, it } from 'vitest'
import { ANY_FAULTS } from './cases.ts'
import { packState, STATE_WORDS } from './pack-state.ts'
import { createProtocol } from './protocol.ts'
import type { State, StoredRecord, WorkerName } from './state.ts'

it('packed states are equal where only the two workers are exchanged, and differ otherwise', () => {
  const faults = { ...ANY_FAULTS, total: 1 }
  const { initial, steps } = createProtocol({ name: '', weaker: {}, faults })
  const words = new Uint32Array(STATE_WORDS)
  const pack = (state: State) => {
    packState(state, words)
    return words.join(' ')
  }
  const textOfPacked = new Map<string, string>()
  const seen = new Set<string>()
  const open = [initial]
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    for (const { next } of steps(state)) {
      const text = JSON.stringify(next)
      if (seen.has(text)) continue
      seen.add(text)
      open.push(next)
      const other = exchanged(next)
      const [canonical = ''] = [text, JSON.stringify(other)].toSorted((a, b) => (a < b ? -1 : 1))
      const packed = pack(next)
      expect(pack(other)).toBe(packed)
      expect(textOfPacked.get(packed) ?? canonical).toBe(canonical)
      textOfPacked.set(packed, canonical)
    }
  }
  expect(new Set(textOfPacked.values()).size).toBe(textOfPacked.size)
  expect(textOfPacked.size).toBeGreaterThan(5_000)
})

/** Returns the same state with the two workers exchanged. */
function exchanged(state: State): State {
  const [first, second] = state.workers
  const storeOf = (store: State['store']) => ({ ...store, record: recordOf(store.record) })
  return {
    ...state,
    store: storeOf(state.store),
    earlier: state.earlier.map(storeOf),
    gateway: { ...state.gateway, worker: nameOf(state.gateway.worker) },
    workers: [second, first],
  }
}

function recordOf(record: StoredRecord | null): StoredRecord | null {
  if (record === null) return null
  const [first, second] = record.given
  return { ...record, worker: nameOf(record.worker), given: [second, first] }
}

function nameOf(name: WorkerName | null): WorkerName | null {
  if (name === null || name === 'gone') return name
  return name === 0 ? 1 : 0
}
