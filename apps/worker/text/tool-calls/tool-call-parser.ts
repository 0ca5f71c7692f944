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
