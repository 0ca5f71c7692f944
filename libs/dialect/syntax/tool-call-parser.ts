/** A parser of tool calls; the same interface for every format. */
export type ToolCallParser = {
  readonly push: (text: string) => void
  readonly finish: () => void
  /** True after the only call of an output that is allowed one: later text is not read. */
  readonly isOver: () => boolean
  /** Whether what was read so far ends within a call. */
  readonly isOpen: () => boolean
}

export type ToolCallSink = {
  readonly onText: (text: string) => void
  readonly onStart: (name: string) => void
  /** Arguments of the call that started last. */
  readonly onArguments: (text: string) => void
}

/** Reads one call, from the end of its opener on. */
export type CallReader = {
  /** null: the call continues. Text: the call is over, and this text follows it. */
  readonly push: (text: string) => string | null
  /** The output ended inside the call. */
  readonly finish: () => void
}

/** Receives one call. `onNoCall`: the text that was read, or the rest of it, does not belong to a call. */
export type CallSink = Pick<ToolCallSink, 'onStart' | 'onArguments'> & {
  readonly onNoCall: (raw: string) => void
}
