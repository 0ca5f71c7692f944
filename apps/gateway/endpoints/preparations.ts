import { chatCompletions } from './chat-completions/endpoint.ts'
import { completions } from './completions/endpoint.ts'
import { prepareEmbeddings } from './embeddings/prepare-embeddings.ts'
import { messageCount } from './messages/count.ts'
import { messages } from './messages/endpoint.ts'
import type { Prepare, Prepared } from './prepare-request.ts'
import { responseCount } from './responses/count.ts'
import { responses } from './responses/endpoint.ts'

/**
 * The preparations of all operations whose requests have a body. A function cannot be sent to a thread, so its index in
 * this list is sent.
 */
export const PREPARATIONS: readonly Prepare<Prepared>[] = [
  chatCompletions.prepare,
  responses.prepare,
  completions.prepare,
  prepareEmbeddings,
  messages.prepare,
  messageCount.prepare,
  responseCount.prepare,
]
