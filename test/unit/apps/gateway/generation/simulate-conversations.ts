import { createAffinity } from '#apps/gateway/generation/affinity.ts'
import { createClusterPicture } from '#apps/gateway/demand/cluster-picture.ts'
import { FORM } from '#libs/queue-redis/keys.ts'
import { generationCall } from '../../../../support/generation-call.ts'
import { modelSpec } from '../../../../support/model-spec.ts'

const MODEL = 'demo-chat'
const [WORKERS, CONVERSATIONS, SLOTS] = [4, 48, 17]
const [FIRST_TOKENS, LATER_TOKENS, TOKENS_PER_MS] = [600, 124, 1.2]
const BEAT_MS = 1_000
/** The time between two looks of the workers for generations, as on a busy machine. */
const LOOK_MS = 150
/** The time that an engine takes for an answer after its prompt. */
const ANSWER_MS = 40

type Turn = { readonly conversation: number; readonly number: number; state: 'offered' | 'waiting' | 'taken' }
type Engine = {
  id: string
  running: number
  freeAtMs: number
  cached: Map<number, number>
  offers: Turn[]
  turns: number
}

/**
 * Simulates conversations that all begin within a second, on engines that compute one prompt after the other. A worker
 * that looks for generations takes half of those that wait, as real workers do. Returns the prompt tokens that the
 * engines computed, and the imbalance: the turns that the busiest engine ran, divided by the mean of all engines. If
 * `isPinned`, each conversation stays at one engine, and the computed tokens are the fewest that are possible.
 */
export function simulateConversations(options: {
  turns: number
  thinkMs: number
  seed: number
  isPinned?: boolean
}) {
  const { turns, thinkMs, isPinned = false } = options
  const random = createRandom(options.seed)
  const clock = createClock()
  const picture = createClusterPicture(clock.nowMs)
  const affinity = createAffinity({ secret: () => 'secret', picture })
  const call = generationCall({
    model: modelSpec({ id: MODEL }),
    conversation: { beginnings: ['turn'], hasAnswer: true },
  })
  const engines = Array.from({ length: WORKERS }, (_, at) => newEngine(`worker-${at}`))
  const seats = new Map<number, string>()
  let waiting: Turn[] = []
  let computedTokens = 0
  let ended = 0

  const engineOf = (id: string) => engines.find((engine) => engine.id === id) ?? newEngine(id)

  function run(turn: Turn, engine: Engine): void {
    const { conversation, number } = turn
    const tokens = FIRST_TOKENS + (number - 1) * LATER_TOKENS
    const missing = tokens - (engine.cached.get(conversation) ?? 0)
    turn.state = 'taken'
    computedTokens += missing
    engine.running += 1
    engine.turns += 1
    engine.cached.set(conversation, tokens)
    engine.freeAtMs = Math.max(clock.nowMs(), engine.freeAtMs) + missing / TOKENS_PER_MS
    seats.set(conversation, engine.id)
    clock.at(engine.freeAtMs + ANSWER_MS, () => end(turn, engine))
  }

  function end({ conversation, number }: Turn, engine: Engine): void {
    engine.running -= 1
    ended += 1
    if (number < turns) clock.at(clock.nowMs() + random() * thinkMs, () => arrive(conversation, number + 1))
    const next = engine.offers.find(({ state }) => state === 'offered') ?? waiting.shift()
    engine.offers = engine.offers.filter((turn) => turn !== next && turn.state === 'offered')
    if (next !== undefined) run(next, engine)
  }

  function arrive(conversation: number, number: number): void {
    const turn: Turn = { conversation, number, state: 'waiting' }
    if (isPinned) return run(turn, engineOf(`worker-${conversation % WORKERS}`))
    const chosen = affinity.open(call).choose(seats.get(conversation))
    if (chosen === null) return void waiting.push(turn)
    const engine = engineOf(chosen.worker)
    if (engine.running < SLOTS) return run(turn, engine)
    turn.state = 'offered'
    engine.offers.push(turn)
    clock.at(clock.nowMs() + chosen.waitMs, () => {
      if (turn.state !== 'offered') return
      turn.state = 'waiting'
      waiting.push(turn)
    })
  }

  function look(): void {
    for (const engine of engines.toSorted(() => random() - 0.5)) {
      const count = Math.min(Math.ceil(waiting.length / 2), SLOTS - engine.running)
      for (const turn of waiting.splice(0, count)) run(turn, engine)
    }
    clock.at(clock.nowMs() + LOOK_MS, look)
  }

  function beat(engine: Engine): void {
    picture.applyHeartbeat(heartbeatOf(engine))
    clock.at(clock.nowMs() + BEAT_MS, () => beat(engine))
  }

  for (const engine of engines) {
    picture.applyHeartbeat(heartbeatOf(engine))
    clock.at(random() * BEAT_MS, () => beat(engine))
  }
  for (let number = 0; number < CONVERSATIONS; number += 1)
    clock.at(random() * 1_000, () => arrive(number, 1))
  look()
  clock.runUntil(() => ended === CONVERSATIONS * turns)
  const busiest = Math.max(...engines.map((engine) => engine.turns))
  return { computedTokens, imbalance: busiest / ((CONVERSATIONS * turns) / WORKERS) }
}

const newEngine = (id: string): Engine => ({
  id,
  running: 0,
  freeAtMs: 0,
  cached: new Map(),
  offers: [],
  turns: 0,
})

function heartbeatOf({ id, running }: Engine) {
  const engine = { model: MODEL, ready: true, slots: SLOTS, running, contextWindow: 8_192 }
  const engines = [{ ...engine, takesOffers: true, meanGenerationMs: 1_000, slotTokensPerS: null }]
  return { id, form: FORM, kind: 'worker', name: id, engines } as const
}

/** A clock that jumps from one planned call to the next. */
function createClock() {
  let nowMs = 0
  const planned: { readonly atMs: number; readonly call: () => void }[] = []
  return {
    nowMs: () => nowMs,
    at(atMs: number, call: () => void): void {
      const later = planned.findIndex((each) => each.atMs > atMs)
      planned.splice(later === -1 ? planned.length : later, 0, { atMs, call })
    },
    runUntil(isOver: () => boolean): void {
      while (!isOver()) {
        const next = planned.shift()
        if (next === undefined) throw new Error('the simulation has no further step')
        nowMs = next.atMs
        next.call()
      }
    },
  }
}

/** A linear congruential generator, so that each seed is one sequence. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}
