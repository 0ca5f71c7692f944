import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Asset, Page } from './load-page.ts'

/** Browsers may keep a file forever, because its address changes with its content. */
const FOREVER = 'public, max-age=31536000, immutable'

/** Serves the page at `path`, and each of its files at the file's address, which begins with `/`. */
export function servePage(app: FastifyInstance, { path, page }: { path: string; page: Page }): void {
  app.get(path, async (request, reply) => sendDocument(request, reply, page))
  for (const [address, asset] of page.assets) {
    app.get(address, async (request, reply) => sendAsset(request, reply, asset))
  }
}

export function sendDocument(request: FastifyRequest, reply: FastifyReply, { html }: Page): FastifyReply {
  return send(request, reply.header('cache-control', 'no-store'), html)
}

/** Sends a file of a page, which browsers may keep forever. */
export function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  return send(request, reply.header('cache-control', FOREVER), asset)
}

function send(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  const accepted = request.headers['accept-encoding'] ?? ''
  reply.type(asset.type).header('vary', 'accept-encoding')
  // A weight of 0 is not considered, because no browser sends it.
  if (/\bbr\b/.test(accepted)) return reply.header('content-encoding', 'br').send(asset.br)
  if (/\bgzip\b/.test(accepted)) return reply.header('content-encoding', 'gzip').send(asset.gzip)
  return reply.send(asset.plain)
}
