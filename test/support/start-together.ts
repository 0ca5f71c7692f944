type Stoppable = { stop(): Promise<unknown> }

/**
 * Resolves with the servers when all have started. If a server fails to start, the other servers are stopped, and the
 * promise rejects with the error of the server that failed first. If a server cannot be stopped, the promise rejects
 * instead with an `AggregateError`: it contains that first error and the errors of the stops.
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
