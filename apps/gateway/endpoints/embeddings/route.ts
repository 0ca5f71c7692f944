import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import { brokenOutput, collect } from '../../generation/collect.ts'
import type { Caller, Generate } from '../../generation/generation-call.ts'
import { abortOnHangUp } from '../../http/abort-on-hang-up.ts'
import { readJsonObject } from '../../http/parse-body.ts'
import type { Catalog } from '../find-model.ts'
import { prepareEmbeddings } from './prepare-embeddings.ts'
import { shortenVector } from './shorten-vector.ts'
import { toEntry, toList } from './to-list.ts'

/** `POST /v1/embeddings`. */
export function serveEmbeddings(deps: {
  generate: Generate
  catalog: Catalog
  callerOf: (request: FastifyRequest) => Caller
}): RouteHandlerMethod {
  const { generate, catalog, callerOf } = deps
  return async (request, reply) => {
    const prepared = prepareEmbeddings(readJsonObject(request.body), catalog)
    const { model, dimensions, encoding } = prepared
    const { signal } = abortOnHangUp(reply.raw)
    // Written as they come: the numbers of thousands of vectors at once would hold up every other answer.
    const entries: string[] = []

    const { usage } = await collect(
      generate({
        id: request.id,
        caller: callerOf(request),
        model,
        request: prepared.request,
        maxOutputTokens: null,
        onVectors(vectors) {
          for (const vector of vectors) {
            entries.push(toEntry(shortenVector(vector, dimensions), entries.length, encoding))
          }
        },
        signal,
      }),
    )
    if (entries.length !== prepared.request.inputs.length) {
      throw brokenOutput('the generation ended without the vectors of all inputs')
    }
    return reply.type('application/json; charset=utf-8').send(toList(entries, model.id, usage))
  }
}
