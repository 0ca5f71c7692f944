import type { FastifyRequest } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Caller, Manager } from './caller.ts'
import type { Authenticate } from './authenticate.ts'

export type AuthenticateManager = (authorization: string | undefined, address: string) => Promise<Manager>

/** Distinguishes the kinds of keys. The prefix is public; a key is checked only on a route that allows its kind. */
const MANAGEMENT_KEY = /^Bearer +mr_manage_/i

/**
 * Identifies the caller of a request. `asCaller`, `asManager` and `asReader` are hooks. Each route uses the hook for
 * the kinds of keys that it allows. The other functions return the identity that a hook has found for the request.
 */
type Identify = {
  /**
   * Accepts API keys only, because only these may run requests. A management key is refused with the error `wrong_key`
   * instead of `invalid_key`. The prefix of management keys is looked for only after a key was refused, so it costs
   * valid requests nothing.
   */
  readonly asCaller: (request: FastifyRequest) => Promise<void>
  /** Accepts management keys only. */
  readonly asManager: (request: FastifyRequest) => Promise<void>
  /** Accepts keys of both kinds. */
  readonly asReader: (request: FastifyRequest) => Promise<void>
  readonly findCaller: (request: FastifyRequest) => Caller | undefined
  readonly callerOf: (request: FastifyRequest) => Caller
  readonly readerOf: (request: FastifyRequest) => Caller | Manager
  /** Returns an empty text if the request has no key. */
  readonly accountOf: (request: FastifyRequest) => string
}

export function createIdentify(deps: {
  authenticate: Authenticate
  authenticateManager: AuthenticateManager
  /** Returns whether the key of a request may be in `x-api-key`. */
  isAnthropic: (request: FastifyRequest) => boolean
}): Identify {
  const callers = new WeakMap<FastifyRequest, Caller>()
  const managers = new WeakMap<FastifyRequest, Manager>()

  /**
   * Returns the `authorization` header. In requests of Anthropic's clients, a key in `x-api-key` counts as a bearer key
   * if there is no `authorization` header.
   */
  function authorizationOf(request: FastifyRequest): string | undefined {
    const { authorization, 'x-api-key': key } = request.headers
    if (authorization !== undefined || typeof key !== 'string') return authorization
    return deps.isAnthropic(request) ? `Bearer ${key}` : undefined
  }

  async function asCaller(request: FastifyRequest): Promise<void> {
    const authorization = authorizationOf(request)
    try {
      callers.set(request, await deps.authenticate(authorization, request.ip))
    } catch (error) {
      throw MANAGEMENT_KEY.test(authorization ?? '') ? new ApiError('wrong_key', CANNOT_SPEND) : error
    }
  }

  async function asReader(request: FastifyRequest): Promise<void> {
    const authorization = authorizationOf(request)
    if (!MANAGEMENT_KEY.test(authorization ?? '')) return await asCaller(request)
    managers.set(request, await deps.authenticateManager(authorization, request.ip))
  }

  async function asManager(request: FastifyRequest): Promise<void> {
    await asReader(request)
    if (!managers.has(request)) throw new ApiError('wrong_key', NEEDS_MANAGEMENT_KEY)
  }

  return {
    asCaller,
    asManager,
    asReader,
    findCaller: (request) => callers.get(request),
    callerOf: (request) => assertIdentified(callers.get(request)),
    readerOf: (request) => assertIdentified(callers.get(request) ?? managers.get(request)),
    accountOf: (request) => (callers.get(request) ?? managers.get(request))?.accountId ?? '',
  }
}

const CANNOT_SPEND =
  'This is a management key: it manages the API keys of its account and can run no request. Use an API key (mr_live_…).'
const NEEDS_MANAGEMENT_KEY =
  'This is an API key, and API keys are managed with a management key (mr_manage_…), which the operator makes.'

function assertIdentified<Identity>(identity: Identity | undefined): Identity {
  if (identity === undefined) throw new Error('this route does not authenticate')
  return identity
}
