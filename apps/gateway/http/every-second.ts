/** Calls `run` each second until the returned function is called. The timer does not keep the process alive. */
export function everySecond(run: () => void): () => void {
  const timer = setInterval(run, 1_000)
  timer.unref()
  return () => clearInterval(timer)
}
