export type Say = (text: string) => void

/**
 * Returns a function that prints a text as one line on standard output. The line begins with the number of seconds
 * since `startedAt`, which is a time of the monotonic clock, `performance.now()`.
 */
export function createSay(startedAt: number): Say {
  return (text) => {
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(`[${String(seconds).padStart(3)} s] ${text}`)
  }
}

/** Runs a long step and prints every ten seconds that it still goes on. */
export async function sayWhile<Result>(say: Say, what: string, step: () => Promise<Result>): Promise<Result> {
  say(what)
  const timer = setInterval(() => say(`still ${what} …`), 10_000)
  try {
    return await step()
  } finally {
    clearInterval(timer)
  }
}
