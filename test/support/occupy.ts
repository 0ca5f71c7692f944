import { expect } from 'vitest'
import type { AccountCalls } from './cluster.ts'
import { startChat } from './start-chat.ts'

/**
 * Makes a model busy for every account. The model must run one generation at a time. This function starts generations,
 * each from a new account, until admission refuses one. So one generation runs and the others wait. They are from
 * different accounts, because admission counts only the generations whose tags come before the tag of the new request:
 * a single account with many generations would find the model busy, but other accounts would not. `release` hangs up
 * all calls; so does the end of the scope.
 */
export async function occupy(
  { baseUrl, createAccount, balance }: Pick<AccountCalls, 'createAccount' | 'balance'> & { baseUrl: string },
  model: string,
): Promise<AsyncDisposable & { release(): Promise<void> }> {
  const calls: { hangUp(): void; openHolds(): Promise<number>; refused(): boolean }[] = []

  async function start() {
    const account = await createAccount('1')
    const { answer, firstText, hangUp } = startChat({
      baseUrl,
      apiKey: account.apiKey,
      model,
      content: 'Talk [[tokens=2000]]',
    })
    let refused = false
    answer.then(
      ({ status }) => (refused = status === 429),
      // The call was hung up, as planned.
      () => {},
    )
    const openHolds = async () => (await balance(account)).openHolds
    const call = { hangUp, openHolds, refused: () => refused }
    calls.push(call)
    return { ...call, firstText }
  }

  async function release() {
    for (const call of calls) call.hangUp()
    for (const call of calls) await expect.poll(call.openHolds).toBe(0)
  }

  const running = await start()
  await running.firstText
  for (;;) {
    const { openHolds, refused } = await start()
    const isWaiting = async () => (await openHolds()) === 1
    await expect.poll(async () => refused() || (await isWaiting())).toBe(true)
    if (refused()) break
  }
  return { release, [Symbol.asyncDispose]: release }
}
