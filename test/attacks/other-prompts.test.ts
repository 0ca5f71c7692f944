import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { parseCredits } from '#libs/money/nano-credits.ts'
import { demoPrices } from '../support/catalog.ts'
import { chatOk } from '../support/chat.ts'
import type { TestAccount } from '../support/cluster.ts'
import { priceTokens } from '../support/price-tokens.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS } from '../support/shared-models.ts'

/** The block size of the simulated engines' caches. */
const BLOCK_TOKENS = 16

let cluster: SharedCluster

beforeAll(async () => {
  cluster = await sharedCluster()
})

/** Returns a text that no engine has seen: a document with secrets that an attacker would guess. */
function secretText(): string {
  return Array.from({ length: 12 }, () => `The secret is ${randomUUID()}.`).join(' ')
}

async function ask({ apiKey }: Pick<TestAccount, 'apiKey'>, model: string, content: string) {
  const fields = { max_tokens: 4 }
  return await chatOk({ baseUrl: cluster.baseUrl, apiKey, model, content, fields })
}

/** The tokens of all full blocks, without the block of the last token, because the last token is always computed. */
const wholeBlocks = (promptTokens: number) => Math.floor((promptTokens - 1) / BLOCK_TOKENS) * BLOCK_TOKENS

describe.each([
  ['that the servicer salts', 'demo-chat'],
  ['that an older servicer shares between all', FILE_MODELS['other-prompts'].engine.model],
])('with a prefix cache %s', (_, model) => {
  test('an account sees neither in its usage nor in its charge what another one has sent', async () => {
    const victim = await cluster.createAccount('1')
    const text = secretText()
    const { promptTokens } = await ask(victim, model, text)
    const guesses = [text, `${text.slice(0, 300)} and another end`, text.replace(' is ', ' is really ')]
    for (const guess of guesses) {
      const attacker = await cluster.createAccount('1')
      const {
        promptTokens: input,
        cachedTokens,
        completionTokens: output,
      } = await ask(attacker, model, guess)
      expect(cachedTokens).toBe(0)
      const price = priceTokens({ input, cachedInput: 0, output }, demoPrices('demo-chat'))
      const left = { posted: parseCredits('1') - price, held: 0n }
      await expect.poll(async () => await cluster.balance(attacker)).toMatchObject(left)
      // The attacker finds a prefix that it has sent itself.
      expect(await ask(attacker, model, guess)).toMatchObject({ cachedTokens: wholeBlocks(input) })
    }
    expect(await ask(victim, model, text)).toMatchObject({ cachedTokens: wholeBlocks(promptTokens) })
  })

  test('the keys of one account find what the others have sent', async () => {
    const account = await cluster.createAccount('1')
    const { secret } = await cluster.admin.call(ADMIN.createKey, { account: account.id, name: 'second' })
    const text = secretText()
    const { promptTokens } = await ask(account, model, text)
    expect(await ask({ apiKey: secret }, model, text)).toMatchObject({
      cachedTokens: wholeBlocks(promptTokens),
    })
  })
})
