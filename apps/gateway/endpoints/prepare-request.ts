import type { FastifyRequest } from 'fastify'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { sizeOf, type RequestSize } from '#libs/contracts/request-size.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import type { TaskOwner } from '#libs/threads/task-pool.ts'
import type { Caller } from '../callers/caller.ts'
import type { Catalog } from '../catalog.ts'
import { checkJsonSize } from '../http/check-json-size.ts'
import { readJsonText } from '../http/parse-body.ts'
import { carriesSchema } from './fields/carries-schema.ts'
import { noteExactTexts } from './fields/exact-texts.ts'
import {
  NO_CONVERSATION,
  toConversation,
  toSession,
  type Conversation,
} from '../generation/request/conversation.ts'
import { refuseShortage } from '../generation/request/insufficient-credits.ts'
import type { TakeBody } from '../http/body-budget.ts'
import { refuseOversized } from './refuse-oversized.ts'
import type { ReasoningKeys } from './responses/sealed-reasoning.ts'

/**
 * Reads the body of an operation's request. Checks the fields in the order that the interface defines (required fields,
 * the model, then the values), and translates them. The function is pure, and its result is plain data. Throws an
 * `ApiError`.
 */
export type Prepare<Result extends Prepared> = (body: JsonObject, context: PrepareContext) => Result

export type PrepareContext = Pick<Catalog, 'find'> & {
  /** Absent: encrypted reasoning is ignored. */
  readonly reasoningKeys?: ReasoningKeys
}

/** The fields that the result of every `Prepare` has. */
export type Prepared = { readonly model: ModelSpec; readonly request: GenerationRequest }

/** A prepared request with the facts that are found on the thread that prepares the body. */
export type Sized<Result extends Prepared> = Result & {
  readonly size: RequestSize
  /**
   * Null if the body was prepared on the event loop: such a body is small, so its conversation can be hashed later.
   * `NO_CONVERSATION` if conversations of the model have no seats.
   */
  readonly conversation: Conversation | null
  /** The field `prompt_cache_key`; null if it is absent or no name for a conversation. */
  readonly promptCacheKey: string | null
}

/** Prepares a request's body, and removes it from the request. Throws an `ApiError`. */
export type PrepareRequest = <Result extends Prepared>(
  prepare: Prepare<Result>,
  request: FastifyRequest,
) => Promise<Sized<Result>>

/**
 * Prepares a body on another thread, to which the body's memory is transferred. `owner` is the account. Each account
 * has its own queue of waiting bodies, and the threads take bodies from these queues in turn. Throws an `ApiError`.
 */
export type PrepareOnThread = <Result extends Prepared>(
  prepare: Prepare<Result>,
  body: Buffer,
  options: PreparingOnThread,
) => Promise<Sized<Result>>

export type PreparingOnThread = {
  readonly models: readonly ModelSpec[]
  /** The ids of the models whose conversations have seats, so that prompts for them are hashed on the thread. */
  readonly seated: readonly string[]
  readonly owner: TaskOwner
  readonly reasoningKeys: ReasoningKeys
}

/** The limits of bodies that are prepared on the event loop. */
export type SmallBody = {
  /** A body of this size or more is large. */
  readonly largeBodyBytes: number
  /**
   * A body with more values than this is large, even if it has few bytes. Reading a value takes about as long as
   * reading 100 bytes of text.
   */
  readonly smallBodyValues: number
}

/**
 * While a body is prepared on the event loop, every stream of this process stands still. So only bodies with few bytes,
 * few values and no JSON schema are prepared there. All other bodies go to the threads. Before a body goes to a thread,
 * its request is refused if the caller can pay for none of the models that the caller may see.
 */
export function createPrepareRequest(deps: {
  prepareOnThread: PrepareOnThread
  small: SmallBody
  /** The catalog that the request's caller may see. */
  catalogOf: (request: FastifyRequest) => Catalog
  callerOf: (request: FastifyRequest) => Caller
  accountOf: (request: FastifyRequest) => string
  reasoningKeysOf: (request: FastifyRequest) => ReasoningKeys
  takeBody: TakeBody
  /** Returns whether conversations of this model have seats (`affinity.ts`). */
  hasSeats: (model: string) => boolean
  onPrepare: (place: 'event-loop' | 'thread') => void
}): PrepareRequest {
  const { prepareOnThread, small, catalogOf, callerOf, accountOf, takeBody, hasSeats, onPrepare } = deps
  return async (prepare, request) => {
    const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY
    // The request object lives as long as its answer, but the body is no longer needed.
    request.body = undefined
    const { toSignal, release } = takeBody(request)
    try {
      const catalog = catalogOf(request)
      const reasoningKeys = deps.reasoningKeysOf(request)
      const json = isSmall(body, small) ? readJsonText(body) : null
      if (json !== null && !carriesSchema(json.object)) {
        onPrepare('event-loop')
        return prepareJson(prepare, json, { ...catalog, reasoningKeys })
      }
      refuseShortage(callerOf(request), catalog.list())
      onPrepare('thread')
      const models = catalog.list().filter(({ id }) => json === null || json.object['model'] === id)
      const seated = models.map(({ id }) => id).filter(hasSeats)
      const begin = () => {
        release()
        return !request.socket.destroyed
      }
      const owner = { id: accountOf(request), begin, signal: toSignal() }
      return await prepareOnThread(prepare, body, { models, seated, owner, reasoningKeys })
    } finally {
      release()
    }
  }
}

const NO_BODY = Buffer.alloc(0)

function isSmall(body: Buffer, { largeBodyBytes, smallBodyValues }: SmallBody): boolean {
  return body.length < largeBodyBytes && checkJsonSize(body, { maxValues: smallBodyValues }) === null
}

/**
 * Turns a body's bytes into a prepared request. Throws an `ApiError`. `seated`: the ids of the models whose
 * conversations have seats; absent: none.
 */
export function prepareBody<Result extends Prepared>(
  prepare: Prepare<Result>,
  body: unknown,
  { seated = [], ...context }: PrepareContext & Partial<Pick<PreparingOnThread, 'seated'>>,
): Sized<Result> {
  const sized = prepareJson(prepare, readJsonText(body), context)
  const isSeated = seated.includes(sized.model.id)
  return { ...sized, conversation: isSeated ? toConversation(sized.request) : NO_CONVERSATION }
}

function prepareJson<Result extends Prepared>(
  prepare: Prepare<Result>,
  { object, text }: ReturnType<typeof readJsonText>,
  context: PrepareContext,
): Sized<Result> {
  noteExactTexts(object, text)
  const prepared = prepare(object, context)
  const size = sizeOf(prepared.request)
  refuseOversized(prepared.request, size, prepared.model)
  return { ...prepared, size, conversation: null, promptCacheKey: toSession(object['prompt_cache_key']) }
}
