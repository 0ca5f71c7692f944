/** Calls `run` each second until the returned function is called; keeps no process alive. */
export function everySecond(run: () => void): () => void {
  const timer = setInterval(run, 1_000)
  timer.unref()
  return () => clearInterval(timer)
}
