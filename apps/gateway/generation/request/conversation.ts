import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'

/** The facts by which a later turn of a conversation is recognized. Only `affinity.ts` reads them. */
export type Conversation = {
  /**
   * Hashes of the beginnings of the prompt that end with a message of the user, the longest first. A beginning without
   * a message of the user is left out, because a system prompt is common to many conversations.
   */
  readonly beginnings: readonly string[]
  /** True if the prompt has an answer, so an earlier turn of the conversation was probably served. */
  readonly hasAnswer: boolean
}

export const NO_CONVERSATION: Conversation = { beginnings: [], hasAnswer: false }

/** An earlier turn ends at one of the latest messages of the user, unless its conversation was edited far back. */
const MOST_BEGINNINGS = 16
/** The most characters of a caller's name for a conversation. A longer name is ignored. */
const LONGEST_SESSION = 512

/**
 * Hashes the request's tools and messages once. The caller must send the earlier messages of a conversation unchanged,
 * as for an engine's prefix cache.
 */
export function toConversation(request: GenerationRequest): Conversation {
  if (request.kind !== 'chat') return NO_CONVERSATION
  const hash = createHash('sha256').update(JSON.stringify(request.tools))
  const users = request.messages.filter(({ role }) => role === 'user').length
  const beginnings: string[] = []
  let seen = 0
  for (const message of request.messages) {
    hash.update(JSON.stringify(message))
    if (message.role !== 'user') continue
    seen += 1
    if (users - seen < MOST_BEGINNINGS) beginnings.unshift(hash.copy().digest('base64url'))
  }
  const hasAnswer = request.messages.some(({ role }) => role === 'assistant')
  return { beginnings, hasAnswer }
}

/**
 * Returns the caller's own name for the conversation; null if there is none. A header names the conversation more exactly
 * than `prompt_cache_key`, which may be the name of a whole application.
 */
export function readSession(headers: IncomingHttpHeaders, promptCacheKey: string | null): string | null {
  return toSession(headers['x-session-affinity']) ?? toSession(headers['x-session-id']) ?? promptCacheKey
}

export function toSession(name: unknown): string | null {
  return typeof name === 'string' && name !== '' && name.length <= LONGEST_SESSION ? name : null
}
