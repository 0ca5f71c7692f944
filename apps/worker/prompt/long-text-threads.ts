import type { Logger } from '#libs/telemetry/logger.ts'
import { createTaskPool, type TaskPool } from '#libs/threads/task-pool.ts'
import { TaskThreadError } from '#libs/threads/task-thread.ts'
import type { Encoder } from '#libs/tokenizer/encoding/encoder.ts'

/** The threads that encode long texts. A process has one such object, and closes it. */
export type LongTextThreads = {
  /**
   * Wraps `encoder`, which was made from `json`. If the texts of one call have more than 32,768 characters in total,
   * they are encoded on a thread, because they would block the calling thread. `encoder` itself encodes them in these
   * cases:
   * - The threads are closed.
   * - Too many calls wait for the threads.
   * - A thread does not start, or it exceeds its limit of time or memory.
   * - The first thread is still starting, and the texts have at most 524,288 characters in total.
   */
  wrapEncoder(encoder: Encoder, json: string): Encoder
  close(): Promise<void>
}

/** One task of a thread. */
export type LongTexts = { readonly texts: readonly string[]; readonly whole: boolean }

/** Up to this many characters in all texts of one call, the ids are read within one or two milliseconds. */
const LONG_CHARACTERS = 32_768

/**
 * For texts with this many characters, the calling thread is blocked for about 40 ms: it reads the token ids from the
 * native library's result and frees the result. This is accepted while the first thread for long texts starts. If the
 * texts waited for that thread, the first long prompt of a worker would take seconds longer than the next ones.
 */
const LONG_CHARACTERS_AT_START = 524_288

/** Threads per tokenizer. While one encodes texts of megabytes, which takes seconds, the other encodes the rest. */
const THREADS = 2

/**
 * `taskMs` is far longer than any task takes: a request body of 32 MiB, the default limit of gateways, takes one
 * minute. A task that exceeds `taskMs` is given up, and the wrapped encoder encodes the task's texts. Meanwhile the
 * native library, which cannot be stopped, goes on encoding the same texts for the task that was given up.
 */
const LIMITS = { waiting: 1_024, taskMs: 1_800_000, heapMib: 512 }

/**
 * The native library encodes on its own threads, but the calling thread reads the ids and frees the library's result.
 * For a prompt of 128,000 tokens each of these two steps takes 20 ms. So long texts are encoded on other threads, each
 * with its own copy of the tokenizer (130 MB for a vocabulary of 150,000). The first thread starts with the first long
 * text.
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
          if (characters <= LONG_CHARACTERS_AT_START && !pool.isStarted()) {
            return await encoder.encode(texts, options)
          }
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

/** Keeps the tokenizer's file for threads that start later: as UTF-8, once for all threads, and not on the heap. */
function toShared(json: string): SharedArrayBuffer {
  const bytes = new TextEncoder().encode(json)
  const shared = new SharedArrayBuffer(bytes.length)
  new Uint8Array(shared).set(bytes)
  return shared
}
