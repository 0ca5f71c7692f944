/** A parser of tool calls; the same interface for every format. */
export type ToolCallParser = {
  readonly push: (text: string) => void
  /** `isCut`: the output was cut off, so at its end the markup of a call that has not started is dropped. */
  readonly finish: (isCut?: boolean) => void
  /** Returns true once the only call is over, if the output may have only one call. Later text is not read. */
  readonly isOver: () => boolean
  /** Returns whether the text so far ends within a call. */
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
  /** Returns null if the call continues. If the call is over, returns the text after it. */
  readonly push: (text: string) => string | null
  /** Must be called when the output has ended inside the call. */
  readonly finish: () => void
}

/** Receives one call. `onNoCall` receives text that was read and is not part of a call. */
export type CallSink = Pick<ToolCallSink, 'onStart' | 'onArguments'> & {
  readonly onNoCall: (raw: string) => void
}
