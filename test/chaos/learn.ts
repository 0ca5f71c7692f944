import type { TestAccount } from '#test/support/cluster.ts'
import type { Ask } from './asks.ts'
import type { Books } from './books.ts'
import { call } from './call.ts'
import type { Known } from './judge.ts'
import { readAnswer } from './read-answer.ts'

type Gateway = { readonly name: string; readonly baseUrl: string }

const LIMIT_MS = 60_000
const AT_ONCE = 8

/**
 * Returns the answer to each request, from a cluster without faults; later answers are compared with these. Each
 * request is sent twice, to different gateways. Throws if an answer is an error, or if the two answers differ.
 */
export async function learn(
  gateways: readonly Gateway[],
  { asks, account, books }: { asks: readonly Ask[]; account: TestAccount; books: Books },
): Promise<Map<Ask, Known>> {
  const left = asks.entries()
  const learned: [Ask, Known][] = []
  async function work() {
    for (const [index, ask] of left) learned[index] = [ask, await learnOne(gateways, { ask, account, books })]
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return new Map(learned)
}

async function learnOne(
  gateways: readonly Gateway[],
  { ask, account, books }: { ask: Ask; account: TestAccount; books: Books },
): Promise<Known> {
  const [first, second = first] = gateways
  if (first === undefined || second === undefined) throw new Error('there is no gateway')
  const answers: Known[] = []
  for (const gateway of [first, second]) {
    const made = await call({ gateway, apiKey: account.apiKey, ask, hangMs: LIMIT_MS })
    const answer = made.status === 200 ? readAnswer(ask.shape, made.body) : null
    if (made.id === null || answer?.ended !== true || answer.error !== null)
      throw new Error(`${ask.name}: ${made.status} ${made.end} ${made.body.slice(-500)}`)
    const { promptTokens, completionTokens } = await books.settled(made.id)
    answers.push({ answer, bytes: made.body.length, promptTokens, completionTokens })
  }
  const [one, other] = answers
  if (one === undefined || other === undefined) throw new Error('two answers were asked for')
  const [a, b] = [one, other].map(({ answer: { output, finish, usage } }) =>
    JSON.stringify({ output, finish, usage: { ...usage, cached: null } }),
  )
  if (a !== b) throw new Error(`${ask.name} has two answers:\n${a}\n${b}`)
  return one
}
