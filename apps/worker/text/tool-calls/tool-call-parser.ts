/** What a parser of tool calls is fed with and what it tells; the same for every format. */
export type ToolCallParser = {
  readonly push: (text: string) => void
  readonly finish: () => void
}

export type ToolCallSink = {
  readonly onText: (text: string) => void
  readonly onStart: (name: string) => void
  /** Belongs to the call that started last. */
  readonly onArguments: (text: string) => void
}
