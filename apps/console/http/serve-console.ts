import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Page } from '#libs/pages/load-page.ts'
import { servePage } from '#libs/pages/serve-page.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createAskBilling } from './ask-billing.ts'
import { ConsoleError, sendError } from './console-error.ts'
import { forwardAdmin } from './forward-admin.ts'
import { installGuard } from './guard-request.ts'
import { installHeaders } from './headers.ts'
import { createSessionCookie } from './session-cookie.ts'
import { serveSignIn } from './sign-in.ts'

/** The limit of request bodies, equal to billing's. */
const MAX_BODY_BYTES = 1024 * 1024

const PAGE_PATH = '/'

const UPLOAD_LIMIT_MS = 30_000

/** Longer than billing's slowest answer takes. */
const IDLE_LIMIT_MS = 6 * 60_000

/** The settings that the page requests once, when it starts. */
export type ConsoleSettings = {
  readonly version: string
  /** The address of Grafana, which has charts over more than six hours. */
  readonly grafanaUrl: string | null
  /** The address below which runbooks are served. */
  readonly docsUrl: string | null
}

/**
 * Creates the console's HTTP server, which does not listen yet. It serves the page and the sessions of its viewers, and
 * it forwards billing's operations. A forwarded request has the viewer's credential, because the server has no
 * credential of its own.
 */
export function createConsoleServer(deps: {
  origin: URL
  billingUrl: string
  page: Page
  /**
   * Addresses and ranges of proxies whose `X-Forwarded-For` header is trusted. In a request from any other address the
   * header is ignored.
   */
  trustedProxies?: readonly string[] | undefined
  settings: ConsoleSettings
  /** How long a connection stays open after an answer. */
  keepAliveTimeoutMs: number
  /** Serves `/live/v1`; `tokenOf` throws for a request without a credential. */
  serveLive: (app: FastifyInstance, tokenOf: (request: FastifyRequest) => string) => void
  nowMs: () => number
  log: Logger
}): FastifyInstance {
  const { origin, billingUrl, page, trustedProxies = [], settings, serveLive, nowMs, log } = deps
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: UPLOAD_LIMIT_MS,
    // `headersTimeout` must not be longer than `requestTimeout`: Node would swap the two limits. The default of
    // `headersTimeout` is 60 s.
    http: { headersTimeout: UPLOAD_LIMIT_MS },
    keepAliveTimeout: deps.keepAliveTimeoutMs,
    connectionTimeout: IDLE_LIMIT_MS,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    logger: false,
    frameworkErrors: (_error, _request, reply) => void sendError(reply, 'invalid_request'),
  })
  app.removeAllContentTypeParsers()
  // The body stays text, because billing parses it. The guard has already refused a page's change that is not JSON.
  app.addContentTypeParser('*', { parseAs: 'string' }, async (_request: unknown, body: string) => body)
  installHeaders(app)
  installGuard(app, { origin, open: new Set([PAGE_PATH, ...page.assets.keys()]) })
  app.setErrorHandler((error, request, reply) => {
    const code = toCode(error)
    if (code === 'internal_error')
      log.error({ err: error, route: request.routeOptions.url }, 'request failed')
    return sendError(reply, code)
  })
  app.setNotFoundHandler((_request, reply) => sendError(reply, 'not_found'))

  const cookie = createSessionCookie(origin)
  const askBilling = createAskBilling(billingUrl)
  function tokenOf(request: FastifyRequest): string {
    const bearer = /^Bearer ([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? '')?.[1]
    // If there is an Authorization header, the cookie is never used, even if the header is malformed. For a request
    // with this header the guard (`guard-request.ts`) does not check that the console's own page has sent it.
    const token = request.headers.authorization === undefined ? cookie.read(request) : bearer
    if (token === undefined) throw new ConsoleError('invalid_token')
    return token
  }

  servePage(app, { path: PAGE_PATH, page })
  app.get('/api/settings', async () => settings)
  serveSignIn(app, { askBilling, cookie, nowMs })
  forwardAdmin(app, { askBilling, tokenOf, log, onRefused: (reply) => cookie.clear(reply) })
  serveLive(app, tokenOf)
  return app
}

function toCode(error: unknown): ConsoleError['code'] {
  if (error instanceof ConsoleError) return error.code
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 401) return 'invalid_token'
  if (status === 503) return 'billing_unreachable'
  if (status === 413) return 'request_too_large'
  return typeof status === 'number' && status >= 400 && status < 500 ? 'invalid_request' : 'internal_error'
}
