/** Thrown if a message on the bus is neither a frame nor a pulse, or is incomplete. */
export class FrameError extends Error {
  constructor(problem: string) {
    super(`not a frame: ${problem}`)
    this.name = 'FrameError'
  }
}

export function readNumber(value: unknown): number {
  if (typeof value !== 'number') throw new FrameError(`a number was expected, not ${typeof value}`)
  return value
}

export function readText(value: unknown): string {
  if (typeof value !== 'string') throw new FrameError(`text was expected, not ${typeof value}`)
  return value
}

export function readBoolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new FrameError(`a boolean was expected, not ${typeof value}`)
  return value
}

export function readArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new FrameError(`an array was expected, not ${typeof value}`)
  return value
}

export function readOneOf<Value extends string>(value: unknown, allowed: readonly Value[]): Value {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw new FrameError(`unexpected ${String(value)}`)
  return found
}
