import type { Redis } from 'ioredis'

/**
 * Embedding vectors on their way from a worker to a gateway: binary keys on the bus, at which an event points.
 *
 * They lie on the bus and not beside the record on the queue Redis, although both are keys: they are output in
 * transit, lost like a frame and as cheaply (the generation fails and costs nothing), and the queue Redis would
 * write every one of them, tens of MiB a request, into its append-only file.
 */
export type VectorsPlace = {
  readonly gateway: string
  readonly stream: number
  readonly epoch: number
  /** Index of the first of the inputs whose vectors these are. */
  readonly first: number
}

/** Longer than a worker waits for its gateway; what nobody takes goes by itself. */
const KEEP_MS = 30_000

/** A gateway's keys share a hash tag, as its channel they belong to one server. */
export function vectorsKey({ gateway, stream, epoch, first }: VectorsPlace): string {
  return `mr:vectors:{${gateway}}:${stream}:${epoch}:${first}`
}

/** Writes vectors of equal length, one after the other, as float32 in the order of memory (little-endian). */
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
 * Reads vectors and deletes them. Throws an Error when they are not there (any more), or are not `count` vectors of
 * `dimensions` numbers.
 */
export async function takeVectors(
  redis: Redis,
  key: string,
  { count, dimensions }: { count: number; dimensions: number },
): Promise<Float32Array[]> {
  const bytes = await redis.getdelBuffer(key)
  if (bytes === null) throw new Error('its vectors are gone')
  const expected = count * dimensions * Float32Array.BYTES_PER_ELEMENT
  if (bytes.length !== expected) {
    throw new Error(
      `its vectors are ${bytes.length} bytes; ${count} of ${dimensions} dimensions are ${expected}`,
    )
  }
  // A copy: bytes from the socket stand at any offset, numbers must not.
  const numbers = new Float32Array(new Uint8Array(bytes).buffer)
  return Array.from({ length: count }, (_, at) => numbers.subarray(at * dimensions, (at + 1) * dimensions))
}
