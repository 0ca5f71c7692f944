import type { Logger } from '#libs/telemetry/logger.ts'

export type Releasers = {
  /** Registers how `resource` is released and gives it back. `limitMs` bounds the release (5 s). */
  add<Resource>(
    name: string,
    resource: Resource,
    release: { run: (resource: Resource) => unknown; limitMs?: number },
  ): Resource
  /** Releases everything, last opened first. Never throws: a failing release is logged and the rest go on. */
  releaseAll(): Promise<void>
}

/** Who opens, closes: the list of what a process holds, in the order in which it was opened. */
export function createReleasers(log: Logger): Releasers {
  const held: { name: string; run: () => unknown; limitMs: number }[] = []
  return {
    add(name, resource, { run, limitMs = 5_000 }) {
      held.push({ name, run: () => run(resource), limitMs })
      return resource
    },
    async releaseAll() {
      for (let next = held.pop(); next !== undefined; next = held.pop()) {
        const { name, run, limitMs } = next
        try {
          await within(limitMs, Promise.resolve(run()))
        } catch (error) {
          log.error({ err: error, resource: name }, 'release failed')
        }
      }
    },
  }
}

async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`not released within ${limitMs} ms`)), limitMs)
  try {
    await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
