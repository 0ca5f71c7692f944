import { expect } from 'vitest'
import type { BillingDatabase } from '../support/billing-database.ts'
import { overdueLines, toLines } from './money-books.ts'
import { createCalls, type Call } from './money-calls.ts'
import type { History, Step } from './money-steps.ts'
import {
  at,
  changeAccount,
  changeKey,
  changePrice,
  createWorld,
  forgetReservation,
  readLines,
  reconcile,
} from './money-world.ts'

/** The first steps give each account enough credits for some holds, and too few for all. */
const OPENING: readonly Step[] = [0, 1].map((account) => ({
  kind: 'top-up',
  account,
  idempotencyKey: 0,
  nano: 2_000n,
}))

/** The number of times that each kind of step got each answer. */
export type Seen = Map<string, number>

/**
 * Runs the same steps on the database and on the model. Answers and states must agree after every step. At the end the
 * reconciliation must find nothing except the holds that the model knows as overdue. Rejects if they differ.
 */
export async function runHistory(database: BillingDatabase, history: History, seen: Seen): Promise<void> {
  const { clock } = database
  const books = await createWorld(database, history.keys)
  const calls = createCalls(database, books)
  /** The sent calls, the newest first. */
  let sent: { kind: Step['kind']; call: Call }[] = []

  for (const step of [...OPENING, ...history.steps]) {
    await take(step)
    // In this step only time passes.
    if (step.kind === 'wait') continue
    const [actual, expected] = [await readLines(database), toLines(books)]
    // Compares without `expect` first: `expect` compares strings one by one and describes each step, which takes more
    // time than the step.
    if (actual.join() !== expected.join()) expect(actual, `after ${print(step)}`).toEqual(expected)
  }
  // The reconciliation runs only at the end, because it takes twice the time of everything else.
  expect(await reconcile(database, false), 'since the seal').toEqual(overdueLines(books))
  await take({ kind: 'sweep', models: [0, 1, 2], waitS: 0 })
  expect(await reconcile(database, true), 'over everything').toEqual([])

  async function take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'top-up':
      case 'adjust':
        return await send(step.kind, calls.credit(step))
      case 'reserve':
        return await send(step.kind, calls.reserve(step))
      case 'ask-again': {
        const call = calls.askAgain(step)
        return call === null ? undefined : await send(step.kind, call)
      }
      case 'resize':
        return await send(step.kind, calls.resize(step))
      case 'release':
        return await send(step.kind, calls.release(step))
      case 'settle':
        return await send(step.kind, calls.settle(step))
      case 'sweep':
        return await send(step.kind, calls.sweep(step))
      case 'seal':
        return await send(step.kind, calls.seal())
      case 'repeat': {
        const again = sent[step.back]
        return again === undefined ? undefined : await send(again.kind, again.call)
      }
      case 'wait':
        clock.nowMs += step.seconds * 1_000
        return
      case 'price':
        return await changePrice(database, books, step)
      case 'change-key':
        return await changeKey(database, { books, key: at(books.keys, step.key) }, step.settings)
      case 'change-account':
        return await changeAccount(database, at(books.accounts, step.account), step.isOpen)
      case 'restore': {
        const { id, call } = calls.restore(step)
        await forgetReservation(database, id)
        return call === null ? undefined : await send('settle', call)
      }
    }
  }

  async function send(kind: Step['kind'], call: Call): Promise<void> {
    sent = [{ kind, call }, ...sent].slice(0, 4)
    const { actual, expected } = await call()
    expect(actual, `answer to ${kind}`).toEqual(expected)
    countAnswers(seen, kind, actual)
  }
}

/** Counts each step's kind with its answer: `reserve granted`, `settle late`. */
function countAnswers(seen: Seen, kind: Step['kind'], actual: unknown): void {
  for (const answer of Array.isArray(actual) ? actual : [actual]) {
    for (const word of wordsOf(answer)) seen.set(`${kind} ${word}`, (seen.get(`${kind} ${word}`) ?? 0) + 1)
  }
}

function wordsOf(answer: unknown): string[] {
  if (typeof answer !== 'object' || answer === null) return [String(answer)]
  const words = 'status' in answer ? [answer.status] : 'result' in answer ? [answer.result] : []
  return [...words.map(String), ...('clamped' in answer && answer.clamped === true ? ['clamped'] : [])]
}

const print = (value: unknown) =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part))
