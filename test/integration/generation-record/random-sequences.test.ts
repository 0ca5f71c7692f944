import { expect, test } from 'vitest'
import type { Settlement } from '#libs/contracts/settlement.ts'
import type { Claim, Claiming, Settler } from '#libs/generation-record/generation-record.ts'
import {
  ALL_ACCOUNTS,
  finishKey,
  modelPrefix,
  requirementsKey,
  VIRTUAL_TIME,
  waitingSumsKey,
  waitingExpiryKey,
} from '#libs/queue-redis/keys.ts'
import { encodeRequirements } from '#libs/generation-record/requirements.ts'
import { generationClaim, generationJob, generationEnqueue } from '../../support/generation-job.ts'
import { createRecordModel, type ModelClaim, type ModelEnqueue } from '../../support/record-model.ts'
import { createRandom } from '../../support/random.ts'
import { orphans, record, redis, settlements, useRecord, withReceipt } from './record-under-test.ts'

const SEQUENCES = 1_000
/** The rounds of a sequence. After each round, the counters are compared as well. */
const ROUNDS = 3
const CALLS = 8
const AT_ONCE = 50

const GATEWAYS = ['gateway-1', 'gateway-2']
const WORKERS = ['worker-1', 'worker-2', 'worker-3']
const ACCOUNTS = ['account-1', 'account-2', 'account-3']
const NEEDS = [
  { features: ['chat'], window: 0 },
  { features: ['chat', 'continue'], window: 0 },
  { features: ['chat'], window: 4_096 },
  { features: ['chat', 'next'], window: 0 },
]
/** The last ones are so large that accounts fall behind the virtual time by more than the credit that they may keep. */
const COSTS = [1, 20, 300, 90_000]
const SERVES = [
  { features: ['chat', 'continue'], window: 8_192 },
  { features: ['chat'], window: 2_048 },
  { features: ['next', 'chat', 'continue'], window: 2_048 },
]

useRecord()

test(`${SEQUENCES} random sequences of enqueues, claims and settlements answer as the model does`, async () => {
  const seen = new Map<string, number>()
  for (let first = 1; first <= SEQUENCES; first += AT_ONCE) {
    const seeds = Array.from({ length: AT_ONCE }, (_, index) => first + index)
    await Promise.all(seeds.map(async (seed) => await runSequence(seed, seen)))
  }
  // If an answer never occurred, the sequences would prove nothing about this answer.
  expect([...seen.keys()].toSorted()).toEqual([
    'claim claimed',
    'claim nothing',
    'enqueue busy bytes',
    'enqueue busy queue',
    'enqueue claimed',
    'enqueue settled',
    'enqueue superseded',
    'enqueue waiting',
    'settle recorded',
    'settle settled',
    'settle stale',
  ])
  expect(Math.min(...seen.values())).toBeGreaterThan(50)
})

/** Runs calls of gateways that are behind, that are ahead or that repeat calls, and of workers that repeat nonces. */
async function runSequence(seed: number, seen: Map<string, number>) {
  const random = createRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const pick = <Value>(values: readonly Value[]): Value => values[below(values.length)] ?? raise()
  const model = `random-${process.pid}-${seed}`
  const expected = createRecordModel()
  const jobs = Array.from({ length: 5 }, (_, index) =>
    withReceipt(generationJob({ model, id: `${seed}-${index}`, gateway: pick(GATEWAYS) })),
  )
  const tags = new Map<string, number>()
  const claims: Claiming[] = []
  const trace: string[] = []
  const count = (answer: string) => seen.set(answer, (seen.get(answer) ?? 0) + 1)

  async function enqueue() {
    const job = pick(jobs)
    const epoch = pick([1, 1, 1, 2, 3])
    const ids = Array.from({ length: epoch === 1 ? 0 : below(4) }, () => below(2 ** 32))
    const place = {
      accountId: pick(ACCOUNTS),
      weight: pick([1, 3, 100]),
      cost: pick(COSTS),
      fixedCost: pick([0, 0, 7]),
      mostAhead: pick([40, 60_000, 1_000_000]),
    }
    const bytes = 600
    const bounds = { accountBytes: pick([bytes, 10 * bytes]), modelBytes: pick([3 * bytes, 10 * bytes]) }
    const tag = random() < 0.5 ? (tags.get(job.id) ?? null) : null
    const requirements = pick(NEEDS)
    const enqueueing: ModelEnqueue = {
      id: job.id,
      gateway: job.gateway,
      epoch,
      requirements,
      tag,
      place,
      bounds,
      bytes,
      ids,
    }
    trace.push(`enqueue ${JSON.stringify(enqueueing)}`)
    const real = await generationEnqueue(job, {
      epoch,
      requirements,
      tag,
      place,
      bounds,
      ids: Uint32Array.from(ids),
    })
    const answer = await record.enqueue({ ...real, job: { ...real.job, bytes } })
    expect(answer).toEqual(expected.enqueue(enqueueing))
    if (answer.status === 'waiting' && epoch === 1) tags.set(job.id, answer.tag)
    count(`enqueue ${answer.status}${answer.status === 'busy' ? ` ${answer.reason}` : ''}`)
  }

  async function claim() {
    const buried = random() < 0.2 ? ['gateway-2'] : []
    const fresh = generationClaim({
      worker: pick(WORKERS),
      nonce: `${seed}-${claims.length}`,
      serves: pick(SERVES),
      buried,
    })
    const claiming = claims.length > 0 && random() < 0.4 ? pick(claims) : fresh
    claims.push(claiming)
    trace.push(`claim ${JSON.stringify(claiming)}`)
    const answer = await record.claim(model, claiming)
    expect(withoutJob(answer)).toEqual(expected.claim(claiming))
    count(`claim ${answer.status}`)
  }

  async function settle() {
    const outcome = pick(['completed', 'cancelled', 'fault', 'never-ran'] as const)
    const tokens = pick([0, 0, 20, 5_000, 200_000])
    const settlement = { id: pick(jobs).id, epoch: pick([1, 1, 2, 3]), outcome, tokens }
    const worker = { role: 'worker', worker: pick(WORKERS) } as const
    const as: Settler = random() < 0.5 ? { role: 'gateway' } : worker
    trace.push(`settle ${JSON.stringify({ settlement, as })}`)
    const answer = await record.settle(model, { ...settlement, ...toUsage(tokens) }, as)
    expect(answer).toEqual(expected.settle(settlement, as))
    count(`settle ${answer.status}`)
  }

  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let call = 0; call < CALLS; call += 1)
        await pick([enqueue, enqueue, enqueue, claim, claim, settle])()
      expect(await readCounters(model)).toEqual(toCounters(expected))
    }
    for (const { id } of jobs) {
      const settlement = { id, epoch: 9, outcome: 'cancelled', tokens: 0 } as const
      await record.settle(model, { ...settlement, ...toUsage(0) }, { role: 'gateway' })
      expected.settle(settlement, { role: 'gateway' })
    }
    expect(await readCounters(model)).toEqual(toCounters(expected))
    expect(await readSettlements(model)).toEqual(expected.settlements)
    expect((await orphans(model)).map(toModelSettlement)).toEqual(expected.orphans)
    const counters = [requirementsKey, waitingSumsKey, waitingExpiryKey].map((key) => key(model))
    const sets = NEEDS.map(
      (requirements) => `${modelPrefix(model)}waiting:${encodeRequirements(requirements)}`,
    )
    expect(await redis.exists(...counters, ...sets)).toBe(0)
  } catch (error) {
    throw new Error(`seed ${seed}:\n${trace.join('\n')}`, { cause: error })
  }
}

function withoutJob(claim: Claim): ModelClaim {
  if (claim.status === 'nothing') return { status: 'nothing' }
  if (claim.status !== 'claimed') throw new Error(`a whole job is ${claim.status}`)
  const { id, epoch, ids, waiting } = claim
  return { status: 'claimed', id, epoch, ids: [...ids], waiting }
}

/** A third of the tokens are the prompt's. */
const toUsage = (tokens: number) => {
  const promptTokens = Math.floor(tokens / 3)
  return { promptTokens, cachedTokens: 0, completionTokens: tokens - promptTokens }
}

/** Reads the places of the accounts, and the sums that the record keeps beside its sets of waiting generations. They must agree with the sets. */
async function readCounters(model: string) {
  const [bytes, finish, sums, requirements, members] = await Promise.all([
    record.waitingBytes(model),
    redis.zrange(finishKey(model), '0', '-1', 'WITHSCORES'),
    redis.hgetall(waitingSumsKey(model)),
    redis.smembers(requirementsKey(model)),
    redis.zrange(waitingExpiryKey(model), '0', '-1'),
  ])
  const pairs = Array.from({ length: finish.length / 2 }, (_, at) => finish.slice(2 * at, 2 * at + 2))
  const { [VIRTUAL_TIME]: virtual = 1, ...ofAccounts } = Object.fromEntries(
    pairs.map(([account, tag]) => [account, Number(tag)]),
  )
  return {
    bytes,
    virtual,
    finish: ofAccounts,
    sums,
    requirements: requirements.toSorted(),
    ids: members.map((member) => member.split('\n').at(-1) ?? '').toSorted(),
  }
}

function toCounters(expected: ReturnType<typeof createRecordModel>) {
  const waiting = expected.waiting()
  const byAccount = Map.groupBy(waiting, ({ place }) => place.accountId)
  if (waiting.length > 0) byAccount.set(ALL_ACCOUNTS, [...waiting])
  const sum = (list: readonly number[]) => list.reduce((total, each) => total + each, 0)
  const toSums = (list: typeof waiting) =>
    [sum(list.map(({ bytes }) => bytes)), sum(list.map(({ place }) => place.cost)), list.length].join(' ')
  return {
    bytes: expected.waitingBytes(),
    virtual: expected.virtual(),
    finish: Object.fromEntries(expected.finish),
    sums: Object.fromEntries([...byAccount].map(([account, list]) => [account, toSums(list)])),
    requirements: [
      ...new Set(waiting.map(({ requirements }) => encodeRequirements(requirements))),
    ].toSorted(),
    ids: waiting.map(({ id }) => id).toSorted(),
  }
}

const readSettlements = async (model: string) => (await settlements(model)).map(toModelSettlement)

function toModelSettlement({ id, epoch, outcome, promptTokens, completionTokens }: Settlement) {
  return { id, epoch, outcome, tokens: promptTokens + completionTokens }
}

function raise(): never {
  throw new Error('nothing to pick from')
}
