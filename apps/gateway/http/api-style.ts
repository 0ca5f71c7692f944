import type { FastifyRequest } from 'fastify'

/**
 * An interface with its own conventions for keys and errors. On routes of Anthropic's interface, the key may be in the
 * header `x-api-key`, and errors have the shape of `messages-error.ts`.
 */
export type ApiStyle = 'anthropic'

/**
 * Returns whether a request follows Anthropic's conventions: by its path, or, where the path belongs to both interfaces
 * or to none, by the headers that Anthropic's clients send.
 */
export function isAnthropic({ headers, url, is404, routeOptions }: FastifyRequest): boolean {
  if (routeOptions.config.style === 'anthropic' || url.startsWith('/v1/messages/')) return true
  if (!is404 && routeOptions.url?.startsWith('/v1/models') !== true) return false
  const { authorization, 'x-api-key': key, 'anthropic-version': version } = headers
  return version !== undefined || (key !== undefined && authorization === undefined)
}
