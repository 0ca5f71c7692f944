import type { Redis } from 'ioredis'
import { observeChannel } from '#libs/event-bus/channels.ts'
import { WORKER_BEATS } from '#libs/event-bus/heartbeat.ts'
import { DEMAND, type Demand } from '#libs/event-bus/scaling-signals.ts'
import { describeProcess, REPORTS, type GatewayReport, type WorkerReport } from '#libs/event-bus/reports.ts'
import { toBeat } from '../../test/support/heartbeats.ts'

export type Fleet = { stop(): void }

const SLOTS = 32
const BEAT_MS = 1_000
const REPORT_MS = 2_000
/** How long a console asks for reports with each message. */
const OBSERVED_MS = 12_000
const BUCKETS: readonly number[] = []

/**
 * The number of reports that are skipped after each sent report while no console observes. So each process then sends a
 * report every 14 s.
 */
const SKIPPED = 6

/**
 * Publishes the messages that the given numbers of gateways and workers would send. Each worker has one engine. Each
 * process sends its load each second, and also a report every 2 s while a console observes. Each process begins to send
 * at a random moment, and the figures in its messages change with each message.
 */
export function startFleet(
  { bus, subscriber }: { bus: Redis; subscriber: Redis },
  { models, workers, gateways }: { models: readonly string[]; workers: number; gateways: number },
): Fleet {
  const at = Math.random
  const count = (most: number) => Math.floor(at() * most)
  const modelOf = (index: number) => models[index % models.length] ?? ''
  const timers = new Set<NodeJS.Timeout>()
  let made = 0
  let observedUntilMs = -Infinity
  subscriber.on('message', () => (observedUntilMs = performance.now() + OBSERVED_MS))
  void subscriber.subscribe(observeChannel())

  function repeat(everyMs: number, delayMs: number, send: () => void) {
    timers.add(setTimeout(() => timers.add(setInterval(send, everyMs)), delayMs))
  }

  function report(delayMs: number, send: () => void) {
    let turn = 0
    repeat(REPORT_MS, delayMs, () => {
      turn += 1
      if (performance.now() < observedUntilMs || turn % (SKIPPED + 1) === 0) send()
    })
  }

  const publish = (channel: string, message: object) => void bus.publish(channel, JSON.stringify(message))

  function toHeartbeat(index: number) {
    made += 1
    return toBeat(
      { id: `worker-${index}`, name: `w-${index}`, node: `gpu-${index % 80}` },
      {
        model: modelOf(index),
        slots: SLOTS,
        running: count(SLOTS),
        meanGenerationMs: 5_000 + count(2_000),
        ended: made,
        promptTokens: made * 400,
        cachedTokens: made * 100,
        outputTokens: made * 300,
        kvUsed: count(100_000),
        kvCapacity: 100_000,
        waiting: count(3),
        version: '0.32.0',
      },
    )
  }

  const toWorkerReport = (index: number): WorkerReport => ({
    ...describeProcess({ id: `worker-${index}`, name: `w-${index}` }),
    kind: 'worker',
    pendingSettlements: 0,
    engines: [
      {
        model: modelOf(index),
        address: '127.0.0.1:8000',
        problem: null,
        refuses: [],
      },
    ],
  })

  function toDemand(index: number): Demand {
    made += 1
    const load = () => ({
      fresh: made * 3,
      repeated: made,
      refused: made,
      unserved: 0,
      waitingTokens: count(8_000),
      unservedAgoMs: null,
    })
    return {
      id: `gateway-${index}`,
      openStreams: count(1_000),
      loopDelayMs: 10 + at(),
      models: Object.fromEntries(models.map((model) => [model, load()])),
    }
  }

  function toGatewayReport(index: number): GatewayReport {
    made += 1
    const rowOf = (number: number) => ({ accountId: `account-${number}`, model: modelOf(number) })
    return {
      ...describeProcess({ id: `gateway-${index}`, name: `g-${index}` }),
      kind: 'gateway',
      pendingSettlements: 0,
      models: Object.fromEntries(
        models.map((model) => [
          model,
          {
            catalog: null,
            asked: made * 3,
            refused: { model_busy: made },
            failed: {},
            queueMs: [...BUCKETS],
            firstTokenMs: [...BUCKETS],
            oldestWaitMs: count(1_000),
          },
        ]),
      ),
      tenants: Array.from({ length: 20 }, (_, number) => ({
        ...rowOf(number),
        waiting: count(20),
        running: count(50),
        refused: made,
      })),
      open: Array.from({ length: 200 }, (_, number) => ({
        id: `request-${index}-${number}`,
        ...rowOf(number),
        stage: 'running' as const,
        ageMs: 1_000 + count(50_000),
        tokens: count(2_000),
      })),
      ended: Array.from({ length: 50 }, () => ({
        id: `ended-${index}-${(made += 1)}`,
        ...rowOf(count(100)),
        kind: 'sample' as const,
        outcome: 'completed' as const,
        code: null,
        weight: 4,
        endedAgoMs: count(2_000),
        totalMs: 5_000,
        waitedMs: 20,
        firstTokenMs: 200,
        promptTokens: 400,
        completionTokens: 300,
      })),
    }
  }

  for (let index = 0; index < workers; index += 1) {
    repeat(BEAT_MS, at() * BEAT_MS, () => publish(WORKER_BEATS.channel(), toHeartbeat(index)))
    report(at() * REPORT_MS, () => publish(REPORTS.channel(), toWorkerReport(index)))
  }
  for (let index = 0; index < gateways; index += 1) {
    repeat(BEAT_MS, at() * BEAT_MS, () => publish(DEMAND.channel(), toDemand(index)))
    report(at() * REPORT_MS, () => publish(REPORTS.channel(), toGatewayReport(index)))
  }
  return {
    stop() {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
