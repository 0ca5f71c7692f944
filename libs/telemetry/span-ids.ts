import { createHash } from 'node:crypto'
import { RandomIdGenerator, type IdGenerator } from '@opentelemetry/sdk-trace'

/**
 * Returns the id of the span with this key. Every process computes the same id, so a process can link to a span that it
 * has not received.
 */
export function toSpanId(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16)
}

/** Makes random ids, except for a span that `withKey` starts: its id is made from its key. */
export function createSpanIds(): {
  generator: IdGenerator
  withKey: <Started>(key: string, start: () => Started) => Started
} {
  const random = new RandomIdGenerator()
  let next: string | null = null
  return {
    generator: {
      generateTraceId: () => random.generateTraceId(),
      generateSpanId: () => next ?? random.generateSpanId(),
    },
    withKey(key, start) {
      next = toSpanId(key)
      try {
        return start()
      } finally {
        next = null
      }
    },
  }
}
