import type { Logger } from '#libs/telemetry/logger.ts'
import { createTaskPool, type TaskPool } from '#libs/threads/task-pool.ts'
import { TaskThreadError } from '#libs/threads/task-thread.ts'
import type { Encoder } from '#libs/tokenizer/encoding/encoder.ts'

/** Encode long texts; a process has one, and closes it. */
export type LongTextThreads = {
  /**
   * `encoder`, which is over `json`, with threads for what would keep this one busy. What they cannot do, because they
   * are closed or out of memory, is left to `encoder`.
   */
  wrapEncoder(encoder: Encoder, json: string): Encoder
  close(): Promise<void>
}

/** What one thread is asked to encode. */
export type LongTexts = { readonly texts: readonly string[]; readonly whole: boolean }

/** The ids of fewer characters, in all texts of one call, are read in one or two milliseconds. */
const LONG_CHARACTERS = 32_768

/** Of a tokenizer. While one has texts of megabytes, which take seconds, the other one has the rest. */
const THREADS = 2

/**
 * The native library cannot be stopped, so a replaced thread would go on, and a second one would do the same work: no
 * task comes near this time. A body of 32 MiB, the default limit of gateways, takes one minute.
 */
const LIMITS = { waiting: 1_024, taskMs: 1_800_000, heapMib: 512 }

/**
 * The native library encodes on its own threads, but its ids are read on the thread that called it: for a prompt of
 * 128,000 tokens 20 ms to read them and as much again to free what the library returned. So long texts have threads of
 * their own, each with its own copy of the tokenizer (130 MB for a vocabulary of 150,000), which start with the
 * first long text.
 */
export function createLongTextThreads(log: Logger): LongTextThreads {
  const pools: TaskPool<LongTexts>[] = []
  let closed = false

  function openPool(file: SharedArrayBuffer): TaskPool<LongTexts> {
    const module = new URL('long-text-thread.ts', import.meta.url)
    const options = { name: 'tokenizer', size: THREADS, module, settings: file, limits: LIMITS, log }
    const pool = createTaskPool<LongTexts>(options)
    pools.push(pool)
    return pool
  }

  return {
    wrapEncoder(encoder, json) {
      const file = toShared(json)
      let pool: TaskPool<LongTexts> | null = null
      return {
        async encode(texts, options) {
          const characters = texts.reduce((sum, text) => sum + text.length, 0)
          if (characters <= LONG_CHARACTERS || closed) return await encoder.encode(texts, options)
          pool ??= openPool(file)
          try {
            return await pool.run<Uint32Array[]>({ texts, whole: options.whole })
          } catch (error) {
            if (!(error instanceof TaskThreadError)) throw error
            return await encoder.encode(texts, options)
          }
        },
      }
    },
    async close() {
      closed = true
      await Promise.all(pools.map(async (pool) => await pool.close()))
    },
  }
}

/** Kept for threads that start later: as UTF-8, once for all of them, and not on the heap. */
function toShared(json: string): SharedArrayBuffer {
  const bytes = new TextEncoder().encode(json)
  const shared = new SharedArrayBuffer(bytes.length)
  new Uint8Array(shared).set(bytes)
  return shared
}
