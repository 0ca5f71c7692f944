import { demoPrices } from '#test/support/catalog.ts'
import type { PartEnd } from '#test/support/faulty-cluster/part.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import type { Row } from './books.ts'
import type { Asked } from './clients.ts'

/**
 * A gateway that dies within this time after an answer may not have delivered the settlement, because the queue Redis
 * may not have answered meanwhile. Such an answer is free.
 */
const UNSETTLED_MS = 30_000

/**
 * A client that hangs up is charged for the tokens that its gateway had received. These may be this many more than the
 * client had, because after an outage the tokens of several seconds arrive at once.
 */
const IN_FLIGHT_TOKENS = 300

/**
 * Returns the problems of the charges. Each request must be charged for its answer; a generation that no client knows
 * must be free. Adds the amount that each account owes to `owed`.
 */
export function checkCharges(options: {
  asked: readonly Asked[]
  rows: ReadonlyMap<string, Row>
  endsOf: (gateway: string) => readonly PartEnd[]
  /** The ids of the charges that earlier calls have checked. */
  checked: Set<string>
}): string[] {
  const { asked, rows, endsOf, checked } = options
  const problems: string[] = []
  for (const each of asked) {
    const { id } = each.call
    if (id === null) continue
    checked.add(id)
    const problem = problemOf(each, { row: rows.get(id), ends: endsOf(each.call.gateway) })
    if (problem !== null) problems.push(`${id} (${each.ask.name}, ${each.outcome.kind}): ${problem}`)
  }
  for (const [id, { charged }] of rows) {
    if (charged > 0n && !checked.has(id)) problems.push(`${id}: charged ${charged}, and no client knows it`)
  }
  return problems
}

function problemOf(
  asked: Asked,
  { row, ends }: { row: Row | undefined; ends: readonly PartEnd[] },
): string | null {
  const { outcome, call } = asked
  const charged = row?.charged ?? 0n
  const isForgiven = ends.some(({ atMs }) => atMs > call.startMs - 1_000 && atMs < call.endMs + UNSETTLED_MS)
  switch (outcome.kind) {
    case 'exact':
    case 'cut-short':
    case 'unpaid':
      return charged === 0n && isForgiven ? null : wholeProblem(asked, row)
    case 'error':
    case 'lost':
    case 'no-credits':
    case 'unreachable':
      return charged === 0n ? null : `charged ${charged}`
    case 'left':
      return leftProblem(asked, outcome.share, row)
    case 'wrong':
      // Reported already.
      return null
  }
}

/** Exactly the answer's tokens are charged. An answer without usage that was cut has fewer tokens than the known one. */
function wholeProblem({ ask, known, outcome }: Asked, row: Row | undefined): string | null {
  if (row === undefined) return 'not settled'
  const usage = 'usage' in outcome ? outcome.usage : null
  const prompt = usage?.prompt ?? known.promptTokens
  const completion = usage?.completion ?? known.completionTokens
  const isCut = usage === null && outcome.kind !== 'exact'
  const isSame =
    row.outcome === 'completed' &&
    row.promptTokens === prompt &&
    (isCut ? row.completionTokens < completion : row.completionTokens === completion) &&
    (usage === null || row.cachedTokens === usage.cached)
  if (!isSame) return `settled as ${describe(row)}, not ${prompt} + ${completion} tokens`
  const price = priceOf(ask.model, row)
  return row.charged === price ? null : `charged ${row.charged}, not ${price}`
}

/** After a hang-up, the prompt is charged, and at most the output that had arrived or was on its way. */
function leftProblem({ ask, known }: Asked, share: number, row: Row | undefined): string | null {
  if (row === undefined || row.charged === 0n) return null
  const most = Math.min(
    known.completionTokens,
    Math.ceil(known.completionTokens * share * 1.3) + IN_FLIGHT_TOKENS,
  )
  if (row.promptTokens !== known.promptTokens || row.completionTokens > most)
    return `settled as ${describe(row)}, not ${known.promptTokens} + at most ${most} tokens`
  const price = priceOf(ask.model, row)
  return row.charged === price ? null : `charged ${row.charged}, not ${price}`
}

function priceOf(model: string, { promptTokens, cachedTokens, completionTokens }: Row): bigint {
  const tokens = { input: promptTokens, cachedInput: cachedTokens, output: completionTokens }
  return priceTokens(tokens, demoPrices(model))
}

function describe({ outcome, promptTokens, cachedTokens, completionTokens }: Row): string {
  return `${outcome}, ${promptTokens} (${cachedTokens} cached) + ${completionTokens} tokens`
}
