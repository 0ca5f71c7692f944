import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { startChat } from '../support/start-chat.ts'

/** Its own cluster, because its engines die. `demo-chat` has one engine, `millrace/demo-chat` two. */
const LONE = { model: 'demo-chat', files: 'demo', maxNumSeqs: 16, stepMs: 20 }
const TWIN = { model: 'millrace/demo-chat', files: 'demo', maxNumSeqs: 16, stepMs: 20 }
const INNOCENTS = 4
/** The demo persona repeats its message after these words, so only an output contains them. */
const POISON = 'You said: KILL'
const NO_FAULT = { poison: null, poisonAfterTokens: 0, restartAfterMs: null }

let cluster: TestCluster
let innocent: TestAccount

beforeAll(async () => {
  cluster = await startCluster({ gateways: 2, workers: [[LONE, TWIN], [TWIN]] })
  innocent = await cluster.createAccount('100')
})

afterEach(async () => await changeFaults(NO_FAULT))

afterAll(async () => await cluster.stop())

async function changeFaults(change: object) {
  const answer = await fetch(`${cluster.simulator.opsUrl}/faults`, {
    method: 'POST',
    body: JSON.stringify(change),
  })
  expect(answer.ok).toBe(true)
}

const countDeaths = () => cluster.simulator.logs().split('engine core died').length - 1
const urlOf = (index: number) => cluster.gateways[index % cluster.gateways.length]?.baseUrl ?? ''

/** Streams of the innocent account over both gateways; resolves when each has its first text. */
async function startInnocents(model: string) {
  const streams = Array.from({ length: INNOCENTS }, (_, index) =>
    startChat({
      baseUrl: urlOf(index),
      apiKey: innocent.apiKey,
      model,
      content: `Talk about ${index} [[tokens=300]]`,
      fields: { temperature: 0 },
    }),
  )
  await Promise.all(streams.map(({ firstText }) => firstText))
  return streams
}

const startKiller = (killer: TestAccount, model: string, gateway = 0) =>
  startChat({
    baseUrl: urlOf(gateway),
    apiKey: killer.apiKey,
    model,
    content: `KILL ${'word '.repeat(300)}`,
    fields: { temperature: 0 },
  })

const whole = (index: number) =>
  chatOk({
    baseUrl: cluster.baseUrl,
    apiKey: innocent.apiKey,
    content: `Talk about ${index} [[tokens=300]]`,
    fields: { temperature: 0 },
  })

test.each([
  ['one engine', LONE.model],
  ['two engines', TWIN.model],
])(
  'a request that kills its engine amid its output ends with its second one; those beside it are whole (%s)',
  async (_, model) => {
    const killer = await cluster.createAccount('10')
    const undisturbed = await Promise.all(Array.from({ length: INNOCENTS }, (__, index) => whole(index)))
    const before = countDeaths()
    const innocents = await startInnocents(model)
    const killing = startKiller(killer, model)
    await killing.firstText
    await changeFaults({ poison: POISON, restartAfterMs: 300 })

    expect(await killing.answer).toMatchObject({ streamError: { code: 'upstream_error' } })
    const answers = await Promise.all(innocents.map(({ answer }) => answer))
    expect(answers.map((answer) => 'text' in answer && answer.text)).toEqual(
      undisturbed.map(({ text }) => text),
    )
    expect(countDeaths() - before).toBe(2)
    await expectBalancedBooks(cluster, [killer, innocent])
    expect(await cluster.balance(killer)).toMatchObject({ posted: 10_000_000_000n })
  },
)

test('one that kills each engine after as many tokens is found as well, and nobody else pays for it', async () => {
  const killer = await cluster.createAccount('10')
  const before = countDeaths()
  const innocents = await startInnocents(LONE.model)
  const killing = startKiller(killer, LONE.model)
  await killing.firstText
  await changeFaults({ poison: POISON, poisonAfterTokens: 40, restartAfterMs: 300 })

  expect(await killing.answer).toMatchObject({ streamError: { code: 'upstream_error' } })
  const answers = await Promise.all(innocents.map(({ answer }) => answer))
  expect(answers).toMatchObject(Array.from({ length: INNOCENTS }, () => ({ finishReason: 'stop' })))
  expect(countDeaths() - before).toBeLessThanOrEqual(3)
  await expectBalancedBooks(cluster, [killer, innocent])
})

test('an account that kills engines is refused by every gateway, whichever of its keys it uses; others are not', async () => {
  const killer = await cluster.createAccount('10')
  await changeFaults({ poison: 'hemlock', restartAfterMs: 300 })
  const ask = async (gateway: number, { apiKey }: TestAccount) =>
    (await chat({ baseUrl: urlOf(gateway), apiKey, content: 'Hi' })).status
  for (let sent = 0; sent < 3; sent += 1) {
    await expect.poll(async () => await ask(sent, innocent)).toBe(200)
    const killing = await chat({ baseUrl: urlOf(sent), apiKey: killer.apiKey, content: 'A cup of hemlock' })
    expect(killing).toMatchObject({ status: 502 })
  }
  for (const gateway of [0, 1]) {
    await expect.poll(async () => await ask(gateway, killer)).toBe(429)
    await expect.poll(async () => await ask(gateway, innocent)).toBe(200)
  }
})
