import type { FastifyInstance } from 'fastify'
import { ApiError } from '#libs/contracts/api-error.ts'
import { loadPage, type Page } from '#libs/pages/load-page.ts'
import { ASSET_HEADERS, PAGE_HEADERS } from '#libs/pages/page-headers.ts'
import { sendAsset, sendDocument } from '#libs/pages/serve-page.ts'
import { shorten } from './shorten.ts'

const FOLDER = 'account/assets'

/**
 * Serves `GET /account`: the page on which the owner of a key sees what the key may read. The page sends the key as
 * bearer token, and calls only operations of the public interface. Its addresses are relative, so that it works below
 * any path that a proxy adds.
 */
export function serveAccountPage(app: FastifyInstance): void {
  const load = once(loadAccountPage)

  app.get('/account', async (request, reply) =>
    sendDocument(request, reply.headers(PAGE_HEADERS), await load()),
  )
  app.get(`/${FOLDER}/:name`, async (request, reply) => {
    const asset = (await load()).assets.get(`${FOLDER}/${readName(request.params)}`)
    if (asset === undefined) throw new ApiError('unknown_operation', `There is no ${shorten(request.url)}.`)
    return sendAsset(request, reply.headers(ASSET_HEADERS), asset)
  })
}

function readName(params: unknown): string {
  const name = typeof params === 'object' && params !== null && 'name' in params ? params.name : undefined
  return typeof name === 'string' ? name : ''
}

/** The page, ready to be sent. */
export async function loadAccountPage(): Promise<Page> {
  return await loadPage({
    html: new URL('../page/index.html', import.meta.url),
    assets: FOLDER,
    packages: ['lit-html'],
  })
}

/**
 * Calls `load` at the first use. So the page does not delay the start of a gateway, and takes no memory until somebody
 * opens it.
 */
function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined
  return async () => {
    loading ??= load()
    try {
      return await loading
    } catch (error) {
      // The next visitor tries again.
      loading = undefined
      throw error
    }
  }
}
