import type { PoolState } from './types.ts'

/** A pause between two rounds beyond which the window is no longer whole. */
const MOST_GAP_MS = 30_000

/** More falling maxima than this are merged, so that a snapshot of many pools stays small. */
const MOST_ENTRIES = 16

type Window = Pick<PoolState, 'window' | 'windowSinceMs'>

/** Adds what is wanted now to the window, and drops what is older than the window. */
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

/** The most that was wanted within the window; null as long as the window is not whole. */
export function mostWanted(state: Window, windowMs: number, nowMs: number): number | null {
  return nowMs - state.windowSinceMs < windowMs ? null : (state.window[0]?.[1] ?? null)
}

/** Two neighbours become one with the higher number and the later time, which protects no less than both. */
function merge(window: [number, number][]): [number, number][] {
  const [first, second, ...rest] = window
  if (window.length <= MOST_ENTRIES || first === undefined || second === undefined) return window
  return [[second[0], first[1]], ...rest]
}
