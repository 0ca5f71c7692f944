import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { chat, chatOk, type ChatAnswer } from '#test/support/chat.ts'
import { startChat } from '#test/support/start-chat.ts'
import { until } from '#test/support/until.ts'
import { baseUrl, compose, consoleUrl, docker, image, serviceStates } from './docker.ts'

const SERVERS = ['redis', 'postgres'] as const
const APPS = ['billing', 'simulator', 'worker', 'gateway', 'console'] as const

const Services = z.record(
  z.string(),
  z.object({ image: z.string(), pull_policy: z.string().optional(), build: z.unknown().optional() }),
)

let apiKey = ''

beforeAll(async () => {
  apiKey = await up()
})

test('one service builds the image that all apps run, and none asks a registry for it', async () => {
  const config = z
    .object({ services: Services })
    .parse(JSON.parse(await compose(['config', '--format', 'json'])))
  const services = Object.values(config.services).filter((service) => service.image === image())
  expect(services).toHaveLength(APPS.length + 1)
  expect(services.filter(({ build }) => build !== undefined)).toHaveLength(1)
  expect(services.filter((service) => service.pull_policy !== 'never')).toEqual([])
})

test('a chat streams to [DONE], with the key that the bootstrap printed', async () => {
  const answer = await chatOk({ baseUrl: baseUrl(), apiKey, content: 'Hello!' })
  expect(answer.text).toContain('Hello!')
  expect(answer.finishReason).toBe('stop')
})

test('the console answers at its published port', async () => {
  const response = await fetch(consoleUrl())
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('<script')])
})

test.for([...SERVERS, ...APPS])(
  'while %s restarts, a stream is never cut, and afterwards new chats are answered',
  async (service) => {
    const stream = startStream(2_000)
    await stream.firstText
    await compose(['restart', service])
    const answer = await stream.answer
    // A stopping gateway gives streams 25 s to end. A stream without its bus waits for 15 s.
    const mayFail = service === 'gateway' || service === 'redis'
    expect(['length', ...(mayFail ? ['upstream_error'] : [])]).toContain(endOf(answer))
    await compose(['up', '--detach', '--wait', ...SERVERS, ...APPS])
    await until(async () => await isAnswered(apiKey), 120_000)
  },
)

test('stop lets a short stream end, ends a long one with the error event, and every service ends with 0', async () => {
  const [short, long] = [startStream(200), startStream(4_000)]
  await Promise.all([short.firstText, long.firstText])
  await compose(['stop'])
  expect(await short.answer).toMatchObject({ streamError: null, finishReason: 'length' })
  // The stream takes about 32 s at the simulator's speed; the gateway waits for 25 s.
  expect(await long.answer).toMatchObject({ streamError: { code: 'upstream_error' }, finishReason: null })
  const states = await serviceStates()
  expect(states.map(({ Service }) => Service).toSorted()).toEqual(
    [...SERVERS, ...APPS, 'bootstrap'].toSorted(),
  )
  expect(states.filter(({ State, ExitCode }) => State !== 'exited' || ExitCode !== 0)).toEqual([])
})

test('down and up keep the key', async () => {
  await compose(['down'])
  expect(await up()).toBe(apiKey)
  await until(async () => await isAnswered(apiKey), 120_000)
})

/** Starts all services. Resolves with the key when the service `bootstrap` has printed it. */
async function up(): Promise<string> {
  // The command returns when `bootstrap` starts, and `bootstrap` starts when the services that it depends on are
  // healthy.
  await compose(['up', '--detach'], 600_000)
  const bootstrap = (await compose(['ps', '--all', '--quiet', 'bootstrap'])).trim()
  const exitCode = (await docker(['wait', bootstrap])).trim()
  const printed = await compose(['logs', '--no-log-prefix', 'bootstrap'])
  const key = Array.from(printed.matchAll(/Bearer ([^']+)'/g)).at(-1)?.[1]
  if (exitCode !== '0' || key === undefined)
    throw new Error(`the bootstrap ended with ${exitCode}: ${printed}`)
  return key
}

/** Starts a stream of this many tokens. Each takes at least 8 ms. */
function startStream(tokens: number) {
  return startChat({
    baseUrl: baseUrl(),
    apiKey,
    model: 'test/long',
    content: 'Write.',
    fields: { max_tokens: tokens },
  })
}

/** Returns the `finish_reason` of an answer, or the code of its error. */
function endOf(answer: ChatAnswer): string | null {
  if (!('text' in answer)) return answer.error.code
  return answer.streamError === null ? answer.finishReason : answer.streamError.code
}

async function isAnswered(key: string): Promise<boolean> {
  try {
    const answer = await chat({ baseUrl: baseUrl(), apiKey: key, content: 'Hello!' })
    return 'text' in answer && answer.finishReason === 'stop'
  } catch {
    // The gateway does not listen yet.
    return false
  }
}
