import type { Series } from '#libs/live-view/rows.ts'

/** The last values of one number, in steps of fixed length. */
export type Ring = {
  /** Writes the value of the step that contains this time. A second value for the same step replaces the first. */
  write(unixMs: number, value: number | null): void
  /**
   * Returns the values up to the last step that was written. Each returned value is the mean of `each` steps, without
   * the steps that have no value. It is null if none of these steps has a value.
   */
  read(each?: number): Series
}

/** Keeps `length` values as 32-bit floats. Skipped steps have no value. */
export function createRing(stepMs: number, length: number): Ring {
  const values = new Float32Array(length).fill(Number.NaN)
  let lastStep: number | null = null

  return {
    write(unixMs, value) {
      const step = Math.floor(unixMs / stepMs)
      // The clock was set back, so the value belongs to an earlier step and is dropped.
      if (lastStep !== null && step < lastStep) return
      const from = lastStep === null ? step : Math.max(lastStep + 1, step - length + 1)
      for (let skipped = from; skipped < step; skipped += 1) values[skipped % length] = Number.NaN
      values[step % length] = value ?? Number.NaN
      lastStep = step
    },
    read(each = 1) {
      const last = lastStep ?? 0
      const groups = Math.floor(length / each)
      const read: (number | null)[] = []
      for (let group = 0; group < groups; group += 1) {
        const first = last - (groups - group) * each + 1
        read.push(lastStep === null ? null : mean(values, { first, count: each }))
      }
      const until = new Date((last + 1) * stepMs).toISOString()
      return { stepMs: stepMs * each, until, values: read }
    },
  }
}

function mean(values: Float32Array, { first, count }: { first: number; count: number }): number | null {
  let [sum, known] = [0, 0]
  for (let step = Math.max(0, first); step < first + count; step += 1) {
    const value = values[step % values.length] ?? Number.NaN
    if (Number.isNaN(value)) continue
    sum += value
    known += 1
  }
  return known === 0 ? null : round(sum / known)
}

/** Rounds to three significant digits, so that a number that hardly moved stays the same. */
export function round(value: number): number {
  return Number(value.toPrecision(3))
}
