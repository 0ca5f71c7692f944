import { chat, chatChoices, chatOk, type ChatCall } from './chat.ts'

/** Starts a stream that a test then watches, interrupts or hangs up. */
function start<Answer>(call: ChatCall, ask: (call: ChatCall) => Promise<Answer>) {
  const abort = new AbortController()
  const firstText = Promise.withResolvers<void>()
  let textPieces = 0
  const answer = ask({
    ...call,
    signal: abort.signal,
    onPiece: (piece) => {
      if (!piece.includes('"content":"')) return
      textPieces += 1
      firstText.resolve()
    },
  })
  // Without text there is nothing to wait for: the answer contains the error.
  answer.then(
    () => firstText.resolve(),
    () => firstText.resolve(),
  )
  return { answer, firstText: firstText.promise, textPieces: () => textPieces, hangUp: () => abort.abort() }
}

/** Starts a stream that may end in any way. */
export const startChat = (call: ChatCall) => start(call, chat)

/** Starts a stream that must end in an answer. */
export const startChatOk = (call: ChatCall) => start(call, chatOk)

/** Starts a stream with several answers. */
export const startChoices = (call: ChatCall) => start(call, chatChoices)
