/** The time at which this script started, by its monotonic clock. */
export const startedAt = performance.now()

/** Prints one line on standard output with the seconds since the start. */
export function say(text) {
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`[${String(seconds).padStart(3)} s] ${text}`)
}

/** Prints every ten seconds that `what` is still running, until the returned function is called. */
export function keepSaying(what) {
  const timer = setInterval(() => say(`still ${what} …`), 10_000)
  return () => clearInterval(timer)
}
