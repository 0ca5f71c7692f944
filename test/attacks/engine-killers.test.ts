import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat } from '../support/chat.ts'
import type { TestAccount } from '../support/cluster.ts'
import { startOwnWorkers, type OwnWorkers } from '../support/own-parts.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'
import { startChat } from '../support/start-chat.ts'

/** `LONE` has one engine, the other model has two. */
const LONE = UNSERVED_MODELS['engine-killers'].model
const TWIN = UNSERVED_MODELS['engine-killers-twin'].model
const ENGINE = { files: 'demo', maxNumSeqs: 16, stepMs: 20 }
const INNOCENTS = 4
/** The demo model writes these words before the message that it repeats, so only an output contains this text. */
const POISON = 'You said: KILL'
const NO_FAULT = { poison: null, poisonAfterTokens: 0, restartAfterMs: null }
const CREDITS = '10'

let cluster: SharedCluster
let own: OwnWorkers
let innocent: TestAccount

beforeAll(async () => {
  cluster = await sharedCluster()
  own = await startOwnWorkers(cluster, [
    [
      { model: LONE, ...ENGINE },
      { model: TWIN, ...ENGINE },
    ],
    [{ model: TWIN, ...ENGINE }],
  ])
  innocent = await cluster.createAccount(CREDITS)
})

afterEach(async () => await changeFaults(NO_FAULT))

afterAll(async () => await own.stop())

async function changeFaults(change: object) {
  const body = JSON.stringify(change)
  expect((await fetch(`${own.simulator.opsUrl}/faults`, { method: 'POST', body })).ok).toBe(true)
}

const countDeaths = () => own.simulator.logs().split('engine core died').length - 1
const urlOf = (index: number) => cluster.gateways[index % 2]?.baseUrl ?? cluster.baseUrl
const greedy = { temperature: 0 }

/** Starts streams of the innocent account on both gateways, and the killer's stream. Resolves when all have begun. */
async function startAll(killer: TestAccount, model: string) {
  const innocents = Array.from({ length: INNOCENTS }, (_, index) =>
    startChat({
      baseUrl: urlOf(index),
      apiKey: innocent.apiKey,
      model,
      content: `Sack ${index} ${'of the best wheat '.repeat(60)}`,
      fields: greedy,
    }),
  )
  await Promise.all(innocents.map(({ firstText }) => firstText))
  const content = `KILL ${'word '.repeat(200)}`
  const killing = startChat({ baseUrl: urlOf(0), apiKey: killer.apiKey, model, content, fields: greedy })
  await killing.firstText
  return { killing: killing.answer, answers: Promise.all(innocents.map(({ answer }) => answer)) }
}

/** The expected answers: each is whole, and no word is lost or doubled. */
const WHOLE = Array.from({ length: INNOCENTS }, (_, index) => ({
  finishReason: 'stop',
  text: `You said: Sack ${index} ${'of the best wheat '.repeat(60)}`.trimEnd(),
}))
const trimmed = (answers: readonly Awaited<ReturnType<typeof chat>>[]) =>
  answers.map((answer) => ('text' in answer ? { ...answer, text: answer.text.trimEnd() } : answer))

async function expectUncharged(killer: TestAccount) {
  await expectBalancedBooks(cluster, [killer, innocent])
  const untouched = await cluster.createAccount(CREDITS)
  expect((await cluster.balance(killer)).posted).toBe((await cluster.balance(untouched)).posted)
}

test.each([
  ['one engine', LONE],
  ['two engines', TWIN],
])(
  'a request that kills its engine amid its output ends with its second or third one; those beside it are whole (%s)',
  async (_, model) => {
    const killer = await cluster.createAccount(CREDITS)
    const before = countDeaths()
    const { killing, answers } = await startAll(killer, model)
    await changeFaults({ poison: POISON, restartAfterMs: 300 })
    expect(await killing).toMatchObject({ streamError: { code: 'upstream_error' } })
    expect(trimmed(await answers)).toMatchObject(WHOLE)
    // On a busy machine the suspected generations may not run one at a time; then a third death shows which one kills.
    expect(countDeaths() - before).toBeGreaterThanOrEqual(2)
    expect(countDeaths() - before).toBeLessThanOrEqual(3)
    await expectUncharged(killer)
  },
)

test('one that kills each engine after so many tokens ends too; those beside it are whole', async () => {
  const killer = await cluster.createAccount(CREDITS)
  const before = countDeaths()
  const { killing, answers } = await startAll(killer, LONE)
  await changeFaults({ poison: POISON, poisonAfterTokens: 40, restartAfterMs: 300 })
  expect(await killing).toMatchObject({ streamError: { code: 'upstream_error' } })
  expect(trimmed(await answers)).toMatchObject(WHOLE)
  // If the killer runs beside others when its second engine dies, only a third death shows which generation kills.
  expect(countDeaths() - before).toBeLessThanOrEqual(3)
  await expectUncharged(killer)
})

test('an account that kills engines is refused by every gateway; others are not', async () => {
  const killer = await cluster.createAccount(CREDITS)
  const ask = async (gateway: number, { apiKey }: TestAccount, content = 'Hi') =>
    (await chat({ baseUrl: urlOf(gateway), apiKey, model: LONE, content })).status
  await changeFaults({ poison: 'hemlock', restartAfterMs: 300 })
  for (let sent = 0; sent < 3; sent += 1) {
    await expect.poll(async () => await ask(sent, innocent)).toBe(200)
    expect(await ask(sent, killer, 'A cup of hemlock')).toBe(502)
  }
  for (const gateway of [0, 1]) {
    await expect.poll(async () => await ask(gateway, innocent)).toBe(200)
    await expect.poll(async () => await ask(gateway, killer)).toBe(429)
  }
})
