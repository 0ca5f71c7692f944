import type { Logger } from '#libs/telemetry/logger.ts'

export type Releasers = {
  /** Registers the release of `resource` and returns the resource. `limitMs` bounds the release; 5 s unless given. */
  add<Resource>(
    name: string,
    resource: Resource,
    release: { run: (resource: Resource) => unknown; limitMs?: number },
  ): Resource
  /**
   * Releases all resources, the last opened first. Never throws: a failed release is logged, and the other resources
   * are released too.
   */
  releaseAll(): Promise<void>
}

/** The open resources of a process, in the order in which they were opened. */
export function createReleasers(log: Logger): Releasers {
  const opened: { name: string; run: () => unknown; limitMs: number }[] = []
  return {
    add(name, resource, { run, limitMs = 5_000 }) {
      opened.push({ name, run: () => run(resource), limitMs })
      return resource
    },
    async releaseAll() {
      for (let next = opened.pop(); next !== undefined; next = opened.pop()) {
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
