import type { PoolState } from './types.ts'

/** After a longer pause between two rounds the window has a gap. */
const MOST_GAP_MS = 30_000

/** If the window has more entries than this, the oldest are merged, so that a snapshot of many pools stays small. */
const MOST_ENTRIES = 16

type Window = Pick<PoolState, 'window' | 'windowSinceMs'>

/** Adds the number wanted now to the window, and drops entries older than the window. */
export function noteWant(
  state: Window,
  now: { readonly want: number; readonly windowMs: number; readonly nowMs: number },
): Window {
  const { want, windowMs, nowMs } = now
  const lastMs = state.window.at(-1)?.[0] ?? null
  const isBroken = lastMs !== null && nowMs - lastMs > MOST_GAP_MS
  const kept = state.window.filter(([ms, replicas]) => nowMs - ms <= windowMs && replicas > want)
  return {
    window: merge([...kept, [nowMs, want]]),
    windowSinceMs: isBroken ? nowMs : state.windowSinceMs,
  }
}

/** Returns the highest number wanted within the window; null until a whole window has passed without a gap. */
export function mostWanted(state: Window, windowMs: number, nowMs: number): number | null {
  return nowMs - state.windowSinceMs < windowMs ? null : (state.window[0]?.[1] ?? null)
}

/**
 * Merges the two oldest entries of the window into one entry, which has the higher number of replicas and the later
 * time. So the pool keeps at least as many replicas, for at least as long, as with both entries.
 */
function merge(window: [number, number][]): [number, number][] {
  const [first, second, ...rest] = window
  if (window.length <= MOST_ENTRIES || first === undefined || second === undefined) return window
  return [[second[0], first[1]], ...rest]
}
