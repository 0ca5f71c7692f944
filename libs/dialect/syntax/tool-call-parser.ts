/** What a parser of tool calls is fed with and what it tells; the same for every format. */
export type ToolCallParser = {
  readonly push: (text: string) => void
  readonly finish: () => void
  /** True after the one call of an output that has no more: what comes then is not read. */
  readonly isOver: () => boolean
}

export type ToolCallSink = {
  readonly onText: (text: string) => void
  readonly onStart: (name: string) => void
  /** Belongs to the call that started last. */
  readonly onArguments: (text: string) => void
}

/** Reads the inside of one call, from behind what opened it. */
export type CallReader = {
  /** null: the call goes on. Text: the call is over, and this comes after it. */
  readonly push: (text: string) => string | null
  /** The output ended inside the call. */
  readonly finish: () => void
}

/** Of one call: what was read before it starts, or does not fit behind that, is no call's. */
export type CallSink = Pick<ToolCallSink, 'onStart' | 'onArguments'> & {
  readonly onNoCall: (raw: string) => void
}
