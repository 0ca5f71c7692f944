import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import { z } from 'zod'
import type { CallerReads, Reader } from '#libs/billing-client/caller-reads.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Caller, Manager } from '../../callers/caller.ts'
import { parseQuery } from './parse-query.ts'
import { createShareRead, type SpendRead } from './share-reads.ts'
import { toActivity, toCreditsAnswer, toCsv, toKeyAnswer, toReceipt } from './to-answers.ts'

/** Any id that an answer has: `x-request-id`, or that with the prefix of its operation. */
const ANY_ID = /^(?:chatcmpl-|cmpl-|resp_)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i

const Cursor = z.string().regex(/^\d{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
const Page = z.object({
  limit: z.coerce.number().int().min(1).max(50).default(50),
  cursor: Cursor.optional(),
})

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_DAYS = 366

/**
 * What a caller reads of its own key, or with a management key of its account: `GET /v1/key`, `/v1/credits`, `/v1/generation`, `/v1/generations`, `/v1/activity`.
 * They cost nothing and need no credits.
 */
export function selfService(deps: {
  reads: CallerReads
  readerOf: (request: FastifyRequest) => Caller | Manager
  spend: SpendRead
  nowMs: () => number
  wallClockMs: () => number
}): Record<'key' | 'credits' | 'generation' | 'generations' | 'activity', RouteHandlerMethod> {
  const { reads, spend, nowMs, wallClockMs } = deps
  const shared = { spend, nowMs }
  const readKey = createShareRead<object, Awaited<ReturnType<CallerReads['readKey']>>>({
    read: async (reader) => await reads.readKey(reader),
    ...shared,
  })
  const readGeneration = createShareRead({
    read: async (reader, { id }: { id: string }) => await reads.readGeneration(reader, id),
    ...shared,
  })
  const listGenerations = createShareRead({ read: reads.listGenerations, ...shared })
  const readActivity = createShareRead({ read: reads.readActivity, ...shared })

  const readerOf = (request: FastifyRequest): Reader => {
    const reader = deps.readerOf(request)
    return 'keyId' in reader ? { keyId: reader.keyId } : { managementKeyId: reader.managementKeyId }
  }
  const ownKey = async (request: FastifyRequest) => {
    const key = await readKey(readerOf(request), {})
    if (key === null) throw new ApiError('invalid_key', 'The API key is no longer valid.')
    return key
  }

  return {
    key: async (request) => toKeyAnswer(await ownKey(request), 'managementKeyId' in deps.readerOf(request)),
    credits: async (request) => toCreditsAnswer(await ownKey(request)),

    async generation(request) {
      const { id: given } = parseQuery(z.object({ id: z.string() }), request)
      const id = ANY_ID.exec(given)?.[1]?.toLowerCase()
      if (id === undefined) throw notFound('There is no request with this id.')
      const { generation, archivedMonth } = await readGeneration(readerOf(request), { id })
      if (generation !== null) return { data: toReceipt(generation) }
      if (archivedMonth === '') throw notFound('There is no request with this id.')
      throw notFound(`Requests of ${archivedMonth} are archived: ask the operator for this one.`)
    },

    async generations(request) {
      const { limit, cursor = '' } = parseQuery(Page, request)
      const answer = await listGenerations(readerOf(request), { limit, cursor })
      const next = answer.nextCursor
      return { data: answer.generations.map(toReceipt), next_cursor: next === '' ? null : next }
    },

    async activity(request, reply) {
      const days = toDays(parseQuery(Days, request), wallClockMs())
      const answer = await readActivity(readerOf(request), days)
      if (answer.archivedMonth !== '') {
        const message = `Usage up to ${answer.archivedMonth} is archived: begin after that month.`
        throw new ApiError('invalid_request', message, { param: 'from' })
      }
      const data = answer.days.map(toActivity)
      if (!wantsCsv(request)) return { data }
      return await reply.type('text/csv; charset=utf-8').send(toCsv(data))
    },
  }
}

const Days = z.object({ from: z.iso.date().optional(), to: z.iso.date().optional() })

/** Default: the last 30 days, today included. */
function toDays({ from, to }: z.infer<typeof Days>, todayMs: number): { from: string; to: string } {
  const last = to ?? toDay(todayMs)
  const first = from ?? toDay(Date.parse(last) - 29 * DAY_MS)
  const count = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1
  if (count < 1) throw new ApiError('invalid_request', "'to' is before 'from'.", { param: 'to' })
  if (count > MAX_DAYS) {
    throw new ApiError('invalid_request', `At most ${MAX_DAYS} days can be read at once.`, { param: 'from' })
  }
  return { from: first, to: last }
}

const toDay = (ms: number) => new Date(ms).toISOString().slice(0, 10)

const wantsCsv = ({ headers }: FastifyRequest) => /(^|[\s,])text\/csv\b/i.test(headers.accept ?? '')

const notFound = (message: string) => new ApiError('generation_not_found', message, { param: 'id' })
