type Stoppable = { stop(): Promise<unknown> }

/**
 * Resolves with the servers when all have started. If one fails to start, the others are stopped, and the promise
 * rejects with the first error. It rejects with all errors if a server did not stop either.
 */
export async function startTogether<Servers extends readonly Stoppable[]>(starts: {
  [Index in keyof Servers]: Promise<Servers[Index]>
}): Promise<Servers> {
  try {
    return await Promise.all(starts)
  } catch (error) {
    const started = await Promise.allSettled<Stoppable>(starts)
    const stopped = await Promise.allSettled(
      started.map(async (start) => start.status === 'fulfilled' && (await start.value.stop())),
    )
    const problems = stopped.flatMap((stop) => (stop.status === 'rejected' ? [stop.reason] : []))
    if (problems.length === 0) throw error
    throw new AggregateError([error, ...problems], 'a server did not stop', { cause: error })
  }
}
