import type { Redis } from 'ioredis'
import { keyPrefix } from '#libs/queue-redis/keys.ts'

/**
 * Embedding vectors travel from a worker to a gateway as binary keys on the bus; a `vectors-ready` event names the
 * keys.
 *
 * They are not stored beside the record on the queue Redis, because that Redis would write all of them, tens of MiB a
 * request, to its append-only file. The bus may lose vectors. The gateway then counts the epoch as lost, and a worker
 * runs the generation again. If the generation fails in the end, it costs nothing.
 */
export type VectorsPlace = {
  readonly gateway: string
  readonly stream: number
  readonly epoch: number
  /** Part of the key, because two workers that run the same epoch must not write the same key. */
  readonly worker: string
  /** Index of the first input whose vector is in this key. */
  readonly first: number
}

/** How long vectors are kept if no gateway takes them: longer than a worker waits for its gateway. */
const KEEP_MS = 30_000

/** The keys of one gateway share a hash tag, because all of them are on one server, as the gateway's channel is. */
export function vectorsKey({ gateway, stream, epoch, worker, first }: VectorsPlace): string {
  return `${keyPrefix()}vectors:{${gateway}}:${stream}:${epoch}:${worker}:${first}`
}

/** Writes vectors of equal length one after the other, as float32 in memory order (little-endian). */
export async function writeVectors(
  redis: Redis,
  key: string,
  vectors: readonly Float32Array[],
): Promise<void> {
  const bytes = Buffer.concat(
    vectors.map((vector) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)),
  )
  await redis.set(key, bytes, 'PX', KEEP_MS)
}

/**
 * Reads vectors. The read may be repeated, because the worker deletes the vectors only after it knows that they were
 * taken. Throws an Error when the key does not exist, or does not contain `count` vectors of `dimensions` numbers.
 */
export async function readVectors(
  redis: Redis,
  key: string,
  { count, dimensions }: { count: number; dimensions: number },
): Promise<Float32Array[]> {
  const bytes = await redis.getBuffer(key)
  if (bytes === null) throw new Error('its vectors are gone')
  const expected = count * dimensions * Float32Array.BYTES_PER_ELEMENT
  if (bytes.length !== expected) {
    throw new Error(
      `its vectors are ${bytes.length} bytes; ${count} of ${dimensions} dimensions are ${expected}`,
    )
  }
  // A copy, because Float32Array needs an aligned offset, and bytes from the socket may have any offset.
  const numbers = new Float32Array(new Uint8Array(bytes).buffer)
  return Array.from({ length: count }, (_, at) => numbers.subarray(at * dimensions, (at + 1) * dimensions))
}

/** Deletes vectors that were taken, or will not be taken. */
export async function deleteVectors(redis: Redis, key: string): Promise<void> {
  await redis.del(key)
}
