import { z } from 'zod'
import type { Shape } from './asks.ts'
import { readChatObject, readChatStream } from './read/chat.ts'
import { readCompletionObject, readCompletionStream } from './read/completions.ts'
import { readEmbeddings } from './read/embeddings.ts'
import { BrokenAnswer, type Received } from './read/received.ts'
import { readResponseObject, readResponseStream } from './read/responses.ts'

const READERS: Readonly<Record<Shape, (body: string) => Received>> = {
  'chat-stream': readChatStream,
  'chat-object': readChatObject,
  'responses-stream': readResponseStream,
  'responses-object': readResponseObject,
  'completions-stream': readCompletionStream,
  'completions-object': readCompletionObject,
  embeddings: readEmbeddings,
}

/** Reads the body of a response with status 200, also one that was cut off. Throws a BrokenAnswer. */
export function readAnswer(shape: Shape, body: string): Received {
  try {
    return READERS[shape](body)
  } catch (error) {
    if (error instanceof z.ZodError || error instanceof SyntaxError)
      throw new BrokenAnswer(`${error.message}: …${body.slice(-300)}`)
    throw error
  }
}
