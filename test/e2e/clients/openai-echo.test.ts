import OpenAI from 'openai'
import { expect } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { formatCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../../support/books.ts'
import { demoPrices } from '../../support/catalog.ts'
import { test, type ClientAccess } from '../../support/client-test.ts'

const connect = ({ baseUrl, apiKey, fetch }: ClientAccess) => new OpenAI({ baseURL: baseUrl, apiKey, fetch })

const PROMPT = ' The mill grinds 文 corn.<|im_end|>'
const ASKED = {
  model: 'demo-chat',
  prompt: PROMPT,
  echo: true,
  logprobs: 2,
  max_tokens: 4,
  temperature: 0,
} as const

test('an answer begins with the prompt, and its lists with the tokens of the prompt', async ({ access }) => {
  const openai = connect(access)
  const whole = await openai.completions.create(ASKED)
  const [choice] = whole.choices
  const {
    tokens = [],
    token_logprobs: logprobs = [],
    top_logprobs: top = [],
    text_offset,
  } = choice?.logprobs ?? {}
  const prompt = tokens.slice(0, whole.usage?.prompt_tokens)
  expect(choice?.text.startsWith(PROMPT)).toBe(true)
  // The prompt is no chat: its tokens are those of the text alone.
  expect(prompt.join('')).toBe(PROMPT)
  expect(whole.usage).toMatchObject({ completion_tokens: 4, total_tokens: tokens.length })
  expect(logprobs.map((one) => one === null)).toEqual(tokens.map((_, at) => at === 0))
  // Tokens that are a part of a character have no text, so their names in a list are the same.
  const named = tokens.flatMap((token, at) => (token === '' ? [] : [top[at]?.[token] ?? null]))
  expect(named).toEqual(logprobs.filter((_, at) => tokens[at] !== ''))
  expect(text_offset?.slice(1)).toEqual(
    tokens.slice(0, -1).map((_, at) => Array.from(tokens.slice(0, at + 1).join('')).length),
  )

  const chunks = await Array.fromAsync(await openai.completions.create({ ...ASKED, stream: true }))
  const streamed = chunks.flatMap(({ choices }) => choices)
  expect(streamed[0]?.text.startsWith(PROMPT)).toBe(true)
  expect(streamed.map(({ text }) => text).join('')).toBe(choice?.text)
  const lists = streamed.flatMap((one) => one.logprobs ?? [])
  expect(lists[0]?.tokens?.length).toBeGreaterThan(prompt.length)
  expect({
    tokens: lists.flatMap((list) => list.tokens ?? []),
    token_logprobs: lists.flatMap((list) => list.token_logprobs ?? []),
    top_logprobs: lists.flatMap((list) => list.top_logprobs ?? []),
    text_offset: lists.flatMap((list) => list.text_offset ?? []),
  }).toEqual(choice?.logprobs)
})

test('without output, the prompt alone is listed and charged, whole and streamed', async ({
  access,
  cluster,
}) => {
  const credits = 1_000_000_000n
  const account = await cluster.createAccount(formatCredits(credits))
  const openai = connect({ ...access, apiKey: account.apiKey })
  const whole = await openai.completions.create({ ...ASKED, max_tokens: 0 })
  const { choices, usage } = whole
  const input = usage?.prompt_tokens ?? 0
  const price = priceTokens({ input, cachedInput: 0, output: 0 }, demoPrices('demo-chat'))
  expect(choices[0]).toMatchObject({ text: PROMPT, finish_reason: 'length' })
  expect(choices[0]?.logprobs?.tokens).toHaveLength(input)
  expect(usage).toMatchObject({
    completion_tokens: 0,
    total_tokens: input,
    cost: Number(formatCredits(price)),
  })

  const stream = await openai.completions.create({ ...ASKED, max_tokens: 0, stream: true })
  const chunks = await Array.fromAsync(stream)
  expect(chunks.map((chunk) => chunk.choices[0])).toMatchObject([
    { text: PROMPT, logprobs: choices[0]?.logprobs, finish_reason: null },
    { text: '', finish_reason: 'length' },
  ])

  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(credits - 2n * price)
  const ids = [whole.id, chunks[0]?.id ?? '']
  const receipts = await Promise.all(
    ids.map(async (id) => await cluster.admin.call(ADMIN.readRequest, { request: id.replace('cmpl-', '') })),
  )
  expect(receipts.map(({ settlement }) => settlement)).toMatchObject(
    ids.map(() => ({
      outcome: 'completed',
      promptTokens: input,
      completionTokens: 0,
      chargedNano: String(price),
    })),
  )
})

test('a prompt is echoed without log probabilities, and by a model that reasons', async ({ access }) => {
  const openai = connect(access)
  const plain = await openai.completions.create({ ...ASKED, logprobs: null })
  expect(plain.choices[0]?.logprobs ?? null).toBeNull()
  expect(plain.choices[0]?.text.startsWith(PROMPT)).toBe(true)
  const reasoning = await openai.completions.create({ ...ASKED, model: 'demo-reasoning' })
  const [choice] = reasoning.choices
  expect(choice?.text.startsWith(PROMPT)).toBe(true)
  expect(choice?.logprobs?.tokens).toHaveLength(reasoning.usage?.total_tokens ?? 0)
})

test('a prompt whose list would be too long is refused, free', async ({ access, cluster }) => {
  const account = await cluster.createAccount('1')
  const openai = connect({ ...access, apiKey: account.apiKey })
  const asked = openai.completions.create({ ...ASKED, prompt: 'mill '.repeat(2_100), max_tokens: 1 })
  await expect(asked).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/'prompt': a prompt with these log probabilities has at most 2048 tokens/),
  })
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBe(1_000_000_000n)
})

test('afterwards nothing is held and the books are balanced', async ({ cluster, account }) => {
  await expectBalancedBooks(cluster, [account])
})
