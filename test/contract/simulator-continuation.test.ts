import { afterAll, describe, expect, it } from 'vitest'
import type { Behaviour } from '#apps/simulator/behaviour.ts'
import {
  promptOf,
  system,
  tokenizer,
  user,
  weather,
} from '../unit/apps/simulator/persona/persona-under-test.ts'
import { startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { callGenerate, collect } from './raw-calls.ts'

const engines = new Map<string, Promise<EngineUnderTest>>()

afterAll(async () => {
  for (const engine of engines.values()) await (await engine).close()
})

function engineFor(files: string, behaviour: Behaviour): Promise<EngineUnderTest> {
  const key = JSON.stringify([files, behaviour])
  const started = engines.get(key) ?? startEngineUnderTest({ files, behaviour, speed: 0, maxNumSeqs: 64 })
  engines.set(key, started)
  return started
}

type Params = {
  readonly temperature?: number
  readonly seed?: number
  readonly logitBias?: Readonly<Record<number, number>>
  readonly maxTokens: number
  readonly minTokens?: number
  readonly ignoreEos?: boolean
}

async function generate({ client }: EngineUnderTest, promptIds: readonly number[], params: Params) {
  const request = { tokenized: { inputIds: promptIds }, samplingParams: params, stream: true }
  const { messages, ending } = await collect(callGenerate(client, request))
  expect(ending.code).toBe('OK')
  const ids = messages.flatMap((message) => message.chunk?.tokenIds ?? [])
  return { ids, reason: messages.at(-1)?.complete?.finishReason }
}

/**
 * Cuts an answer after every id and sends its first ids as part of the prompt. Returns the cuts after which the engine
 * does not write exactly the missing ids.
 */
async function brokenCuts(engine: EngineUnderTest, prompt: Uint32Array, params: Params) {
  const { ids, reason } = await generate(engine, [...prompt], params)
  const cuts = ids.map((_, cut) => cut)
  const rests = await Promise.all(
    cuts.map((cut) => {
      const maxTokens = params.maxTokens - cut
      const minTokens = Math.max(0, (params.minTokens ?? 0) - cut)
      return generate(engine, [...prompt, ...ids.slice(0, cut)], { ...params, maxTokens, minTokens })
    }),
  )
  const broken = cuts.filter((cut) => {
    const rest = rests[cut]
    return rest?.ids.join() !== ids.slice(cut).join() || rest.reason !== reason
  })
  return { broken, count: ids.length }
}

const PERSONA = { type: 'persona' } as const
const GREEDY = { temperature: 0, maxTokens: 120 }
const chat = (text: string) => promptOf({ messages: [system('Be kind. Größe 東京 😀'), user(text)] })
const calling = () => promptOf({ messages: [user('the weather in Paris')], tools: [weather] })
const [comma = 0, the = 0] = await tokenizer.encode(',')
const biased = { [comma]: 8, [the]: 7.6 }

describe('a call whose prompt has the ids so far goes on with exactly those that are missing:', () => {
  it.for<[string, () => Promise<Uint32Array>, Partial<Params>, string?, Behaviour?]>([
    ['an answer', () => chat('Hello there'), {}],
    ['an answer with characters of several tokens', () => chat('“Grüße” \u{10FFFD} 😀🚀'), {}],
    ['a tool call', calling, {}],
    ['thinking and an answer', () => chat('Hello'), {}, 'demo-reasoning'],
    ['thinking and a tool call', calling, {}, 'demo-reasoning'],
    ['an answer that its limit cuts', () => chat('Hello'), { maxTokens: 9 }],
    ['filler', () => chat('[[tokens=70]]'), {}],
    ['filler of another seed', () => chat('[[tokens=70]]'), { temperature: 1, seed: 77 }],
    ['broken characters', () => chat('[[raw=invalid-utf8]]'), {}],
    ['an answer that must be longer', () => chat('Hello'), { minTokens: 60, temperature: 1, seed: 3 }],
    ['an answer that no end token ends', () => chat('Hello'), { ignoreEos: true, maxTokens: 50 }],
    ['sampling', () => chat('Hello'), { temperature: 1, seed: 5 }],
    ['a bias', () => chat('Hello there'), { temperature: 1, seed: 5, logitBias: biased }],
    ['a bias in thinking', calling, { temperature: 1, seed: -9, logitBias: biased }, 'demo-reasoning'],
    ['a bias in filler', () => chat('[[tokens=70]]'), { temperature: 1, seed: 3, logitBias: biased }],
    ['a bias without a seed', () => chat('Hello'), { temperature: 1, logitBias: biased }],
    ['forbidden tokens', () => chat('Hello, so, that, is'), { logitBias: { [comma]: -100 } }],
    ['a prompt that is no chat', () => tokenizer.encode('Hello raw world'), {}],
    ['no chat, biased', () => tokenizer.encode('Raw'), { temperature: 1, seed: 4, logitBias: biased }],
    ['a given number of tokens', () => chat('Hello'), {}, 'demo', { type: 'writes', tokens: 90 }],
  ])('%s', async ([, prompt, change, files = 'demo', behaviour = PERSONA]) => {
    const engine = await engineFor(files, behaviour)
    const { broken, count } = await brokenCuts(engine, await prompt(), { ...GREEDY, ...change })
    expect(broken).toEqual([])
    expect(count).toBeGreaterThan(8)
  })
})
