import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ADMIN, ADMIN_ROOT } from '#libs/admin-contract/admin-contract.ts'
import type { Operation } from '#libs/admin-contract/operation.ts'
import { fillPath, toRoute } from '#libs/http-contract/path.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { AskBilling } from './ask-billing.ts'
import { ConsoleError } from './console-error.ts'

/**
 * Operations that are not forwarded, because they return a token that no script may read. The console's own sign-in
 * calls them.
 */
const OWN = new Set(['openSession', 'claimSession'])

const PASSED_HEADERS = ['content-type', 'content-disposition', 'retry-after'] as const

/**
 * Forwards requests below `/api/admin` to billing, if they are for an operation of `#libs/admin-contract`. The path of
 * the forwarded request is built from validated parameters, because a path with `..` in it would name another
 * operation. The browser's headers are not passed on.
 */
export function forwardAdmin(
  app: FastifyInstance,
  deps: {
    askBilling: AskBilling
    /** Returns the request's credential, or throws if it has none. */
    tokenOf: (request: FastifyRequest) => string
    /** Called when billing has refused the request's credential. */
    onRefused: (reply: FastifyReply) => void
    log: Logger
  },
): void {
  const { askBilling, tokenOf, onRefused, log } = deps

  function serve(operation: Operation): void {
    app.route({
      method: operation.method,
      url: `/api/admin${toRoute(operation.path)}`,
      async handler(request, reply) {
        const token = tokenOf(request)
        const gone = new AbortController()
        reply.raw.once('close', () => gone.abort())
        const answer = await askBilling({
          method: operation.method,
          target: ADMIN_ROOT + toPath(operation, request.params) + toQuery(request.url),
          token,
          signal: gone.signal,
          body: operation.kind === 'change' ? toText(request.body) : undefined,
        })
        if (answer.status === 401) onRefused(reply)
        for (const name of PASSED_HEADERS) {
          const value = answer.headers.get(name)
          if (value !== null) reply.header(name, value)
        }
        reply.status(answer.status)
        return answer.body === null ? reply.send() : reply.send(toStream(answer.body, log))
      },
    })
  }
  for (const [id, operation] of Object.entries<Operation>(ADMIN)) if (!OWN.has(id)) serve(operation)
}

/**
 * Converts billing's body to a Node stream. If billing's answer breaks off, the browser's connection is closed too, so
 * that the answer does not look complete.
 */
function toStream(body: NonNullable<Response['body']>, log: Logger): Readable {
  const stream = Readable.fromWeb(body)
  stream.on('error', (error) => log.warn({ err: error }, 'an answer of billing broke off'))
  return stream
}

function toPath({ path, params }: Operation, given: unknown): string {
  const result = params.safeParse(given)
  if (!result.success) throw new ConsoleError('invalid_request', { cause: result.error })
  return fillPath(path, (name) => String(result.data[name]))
}

function toQuery(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start)
}

function toText(body: unknown): string {
  return typeof body === 'string' && body !== '' ? body : '{}'
}
