import type { RequestListener } from 'node:http'
import type { ModelReport } from './model-report.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * Serves `GET /models` on the operators' port: each model's numbers, the term that decides, and the reason in words.
 * Every scaler answers from the leader's last snapshot. Before there is a snapshot, it answers with 503.
 */
export function createExplainModels(options: {
  snapshot: () => Snapshot | null
  ageMs: () => number
  isLeader: () => boolean
}): RequestListener {
  return (_request, response) => {
    const snapshot = options.snapshot()
    if (snapshot === null) {
      response.writeHead(503, { 'content-type': 'text/plain' }).end('no snapshot of a leading scaler yet\n')
      return
    }
    const body = {
      term: snapshot.term,
      isLeader: options.isLeader(),
      ageMs: Math.round(options.ageMs()),
      gateways: snapshot.gateway === null ? null : { target: snapshot.gateway.target },
      models: snapshot.report.map((report) => ({ ...report, why: toWords(report) })),
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify(body, null, 2)}\n`)
  }
}

/** Returns one clause for the need, and one for each pool whose number is not steady. */
export function toWords(report: ModelReport): string {
  const pools = report.pools.flatMap((pool) => {
    const words = [REASONS[pool.reason], PAUSES[pool.pause]].filter((one) => one !== undefined)
    return words.length === 0 ? [] : [`${pool.pool}: ${pool.target}, ${words.join(', ')}`]
  })
  return [`${report.need} needed: ${needWords(report)}`, ...pools].join('; ')
}

function needWords(report: ModelReport): string {
  const { offeredPerS, meanServiceMs, running, waiting, slotsPerReplica } = report
  const service = meanServiceMs === null ? 'an unknown time' : `${seconds(meanServiceMs)} s`
  const slots = slotsPerReplica === null ? 'the configured slots' : `${slotsPerReplica} slots`
  switch (report.term) {
    case 'busy':
      return `${offeredPerS}/s offered for ${service} each, ${running} running, ${waiting} waiting, over ${slots} a replica`
    case 'decode':
      return `${offeredPerS}/s × ${known(report.meanOutputTokens)} output tokens, over ${known(report.decodePerReplica)} tokens/s a replica`
    case 'prefill':
      return `${report.waitingTokens} prompt tokens wait, over ${known(report.prefillPerReplica)} tokens/s a replica`
    case 'max':
      return `the load asks for ${Math.max(0, ...Object.values(report.terms)).toFixed(1)}, more than the maximum`
    case 'floor':
      return 'the load asks for less than the minimum at this time'
    case 'unserved':
      return 'a request waits, or was refused for want of a worker within the last minute'
    default:
      return `nothing offered, waiting or running for ${seconds(report.idleForMs)} s`
  }
}

/** Texts for each `ChangeReason`; a steady pool needs none. */
const REASONS: Readonly<Record<string, string>> = {
  paused: 'its ScaledObject is paused',
  rise: 'rises',
  uncordon: 'cordoned pods serve again',
  'no-gpu': 'more is wanted, and no GPU is free',
  reclaim: 'gives GPUs back to pools that the budget prefers',
  idle: 'goes to zero',
  step: 'goes down a step',
  window: 'kept until less was wanted throughout its window, and for the next step',
}

/** Words for a pause of one direction. A pause of both directions is a `ChangeReason`. */
const PAUSES: Readonly<Record<string, string>> = {
  in: 'its ScaledObject is paused for scaling in',
  out: 'its ScaledObject is paused for scaling out',
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1)
const known = (value: number | null) => (value === null ? 'unknown' : value.toFixed(1))
