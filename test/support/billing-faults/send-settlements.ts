import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { settlementStreamKey } from '#libs/queue-redis/keys.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'

/** The most settlements that wait together. They are then sent in a random order. */
const OUT_OF_ORDER = 16
const MAX_WAIT_MS = 200
const RETRY_MS = 50
const REMEMBERED = 500

export type SettlementSender = {
  /** Resolves when Redis has acknowledged the settlement. */
  send(model: string, settlement: Settlement): Promise<void>
  sent(): number
  /** Returns the streams with entries that are not delivered or not acknowledged; empty if everything is settled. */
  listUnsettled(models: readonly string[]): Promise<string[]>
  disconnect(): void
}

/**
 * Appends settlements to the streams, in the form in which `settle.lua` appends them, and in random order. One
 * settlement in four is appended twice. If Redis does not acknowledge a settlement, it is appended again. After one
 * settlement in ten, an old settlement is appended again.
 */
export function createSettlementSender(redisUrl: string): SettlementSender {
  const log = pino({ level: 'silent' })
  const place = { mode: 'single', url: redisUrl } as const
  const redis = openRedis({ place, name: 'test', patience: 'patient', log })
  type Entry = {
    model: string
    settlement: Settlement
    resolve: () => void
    reject: (error: unknown) => void
  }
  const old: Entry[] = []
  let waiting: Entry[] = []
  let timer: NodeJS.Timeout | undefined
  let sent = 0

  function flush() {
    clearTimeout(timer)
    timer = undefined
    const batch = shuffle(waiting)
    waiting = []
    for (const entry of batch) void deliver(entry).then(entry.resolve, entry.reject)
  }

  async function deliver(entry: Entry) {
    await append(entry)
    if (randomInt(4) === 0) await append(entry)
    const again = old[randomInt(REMEMBERED)]
    if (again !== undefined && randomInt(10) === 0) await append(again)
    old[sent % REMEMBERED] = entry
    sent += 1
  }

  async function append({ model, settlement }: Entry) {
    const { timing: _timing, ...texts } = settlement
    const fields = Object.entries(texts).flatMap(([name, value]) => [name, String(value)])
    for (;;) {
      try {
        await redis.xadd(settlementStreamKey(model), '*', ...fields)
        return
      } catch (error) {
        if (redis.status === 'end') throw error
        await sleep(RETRY_MS)
      }
    }
  }

  return {
    send(model, settlement) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      waiting.push({ model, settlement, resolve, reject })
      if (waiting.length >= OUT_OF_ORDER) flush()
      else timer ??= setTimeout(flush, MAX_WAIT_MS)
      return promise
    },
    sent: () => sent,
    async listUnsettled(models) {
      const unsettled: string[] = []
      for (const key of models.map(settlementStreamKey)) {
        const [stream, groups] = [await redis.xinfo('STREAM', key), await redis.xinfo('GROUPS', key)]
        const lastId = readField(stream, 'last-generated-id')
        const group = Array.isArray(groups) ? groups[0] : null
        // The group's lag is not used, because it is wrong after Redis has read its append-only file.
        const isSettled =
          readField(group, 'pending') === 0 && readField(group, 'last-delivered-id') === lastId
        if (!isSettled) unsettled.push(`${key} until ${String(lastId)}: ${JSON.stringify(groups)}`)
      }
      return unsettled
    },
    disconnect: () => redis.disconnect(),
  }
}

/** Returns a value from a reply that lists names and values. */
function readField(reply: unknown, name: string): unknown {
  return Array.isArray(reply) ? reply[reply.indexOf(name) + 1] : null
}

function shuffle<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value)
}
