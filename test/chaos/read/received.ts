/** The part of an answer that a client has received, without ids and times. */
export type Received = {
  /** The text of each part: `reasoning`, `text`, or `call 0 NAME` with the arguments. */
  readonly output: Readonly<Record<string, string>>
  /** The finish reason; null until the answer has ended. */
  readonly finish: string | null
  /** Null if the operation has no usage, or if the usage has not arrived. */
  readonly usage: Usage | null
  /** The code of an error event. */
  readonly error: string | null
  /** The last event has arrived. */
  readonly ended: boolean
}

export type Usage = {
  readonly prompt: number
  readonly cached: number
  readonly completion: number
  readonly reasoning: number
}

export const NOTHING: Received = { output: {}, finish: null, usage: null, error: null, ended: false }

/** A response that violates the rules of its interface, for example one that skips a sequence number. */
export class BrokenAnswer extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BrokenAnswer'
  }
}

export function check(isRight: boolean, wrong: string): void {
  if (!isRight) throw new BrokenAnswer(wrong)
}

/** Collects the texts of an output by part. */
export function createOutput() {
  const output: Record<string, string> = {}
  return {
    output,
    add(part: string, text: string) {
      output[part] = (output[part] ?? '') + text
    },
  }
}

/** Returns the data of each complete event of a stream, in order, without comments. */
export function toEvents(body: string): string[] {
  const events = body.split('\n\n')
  // The last piece is empty, or an event that was cut off.
  events.pop()
  return events
    .filter((event) => !event.startsWith(':'))
    .map((event) => {
      const line = event.split('\n').find((each) => each.startsWith('data: '))
      if (line === undefined) throw new BrokenAnswer(`an event without data: ${event}`)
      return line.slice('data: '.length)
    })
}

/** Returns a function that throws if a value differs from its first value. */
export function createConstant(name: string): (value: string) => void {
  let known: string | null = null
  return (value) => {
    known ??= value
    check(value === known, `${name} changes from ${known} to ${value}`)
  }
}
