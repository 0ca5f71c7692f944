import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { chatCompletions } from '../endpoints/chat-completions/endpoint.ts'
import { completions } from '../endpoints/completions/endpoint.ts'
import { prepareEmbeddings } from '../endpoints/embeddings/prepare-embeddings.ts'
import type { Catalog } from '../endpoints/find-model.ts'
import { responses } from '../endpoints/responses/endpoint.ts'
import type { JsonObject } from '../http/parse-body.ts'

/** How an operation reads its bodies. Pure, and its result is plain data. Throws an `ApiError`. */
export type Preparation<Result extends Prepared> = (
  body: JsonObject,
  catalog: Pick<Catalog, 'find'>,
) => Result

/** What every body becomes, whatever else its operation makes of it. */
export type Prepared = { readonly model: ModelSpec; readonly request: GenerationRequest }

/** One for each operation whose requests have a body; its place in this list is its name on the thread. */
export const PREPARATIONS: readonly Preparation<Prepared>[] = [
  chatCompletions.prepare,
  responses.prepare,
  completions.prepare,
  prepareEmbeddings,
]
