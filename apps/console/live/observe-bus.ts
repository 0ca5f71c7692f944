import { WORKER_BEATS } from '#libs/event-bus/heartbeat.ts'
import { publishObserve, REPORTS } from '#libs/event-bus/reports.ts'
import {
  DEMAND,
  Demand,
  MODEL_STATES,
  subscribeSignal,
  type BusServer,
  type Signal,
} from '#libs/event-bus/scaling-signals.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { GatewayLoad } from './follow-gateways.ts'
import { gatherReads } from './gather-reads.ts'
import type { Picture } from './picture.ts'

export type BusObserver = {
  /** Sets whether anybody watches. */
  setWatched(watched: boolean): void
  stop(): void
}

const OBSERVE_EVERY_MS = 5_000
/**
 * After a request to report, a process sends reports for this long. The time is longer than two intervals between such
 * requests, so that one lost request changes nothing.
 */
const OBSERVE_FOR_MS = 12_000
/**
 * Without a viewer, the console listens for `LISTEN_FOR_MS` once in every `LISTEN_EVERY_MS`. Each process sends its
 * signals each second.
 */
const LISTEN_EVERY_MS = 15_000
const LISTEN_FOR_MS = 1_500

/**
 * A gateway's demand without its numbers by model, which only scalers need. If the console validated these numbers,
 * this would be most of its work for a message.
 */
const GATEWAY_LOAD: Signal<GatewayLoad> = {
  channel: DEMAND.channel,
  schema: Demand.pick({ id: true, openStreams: true, loopDelayMs: true }),
}

const toSignalChannels = () => [WORKER_BEATS, DEMAND, MODEL_STATES].map(({ channel }) => channel())

/**
 * Subscribes to the reports of all processes. Their load signals, hundreds a second, are received all the time while
 * somebody watches, and otherwise for a moment every 15 s, so that an unwatched console costs almost nothing.
 */
export async function observeBus(deps: {
  servers: readonly BusServer[]
  picture: Pick<Picture, 'receiveWorker' | 'receiveDemand' | 'receiveStates' | 'receiveReport' | 'setWatched'>
  log: Logger
}): Promise<BusObserver> {
  const { servers, picture, log } = deps
  let watched = false
  let listening = true
  let timers: NodeJS.Timeout[] = []

  await Promise.all(
    servers.map(async ({ subscriber }) => {
      await subscribeSignal({ subscriber, log }, REPORTS, picture.receiveReport)
      await subscribeSignal({ subscriber, log }, WORKER_BEATS, picture.receiveWorker)
      await subscribeSignal({ subscriber, log }, GATEWAY_LOAD, picture.receiveDemand)
      await subscribeSignal({ subscriber, log }, MODEL_STATES, picture.receiveStates)
    }),
  )
  const stopGathering = servers.map(({ subscriber }) => gatherReads(subscriber))

  function listen(on: boolean) {
    if (on === listening) return
    listening = on
    for (const { subscriber } of servers) {
      const change = on
        ? subscriber.subscribe(...toSignalChannels())
        : subscriber.unsubscribe(...toSignalChannels())
      // The change is not awaited, because it waits until the bus is reachable.
      change.catch((error: unknown) => log.warn({ err: error }, 'subscription not changed'))
    }
  }

  function askForReports() {
    for (const { bus } of servers) void publishObserve({ redis: bus, log }, OBSERVE_FOR_MS)
  }

  function listenForAMoment() {
    listen(true)
    timers.push(setTimeout(() => listen(false), LISTEN_FOR_MS))
  }

  function clear() {
    for (const timer of timers) clearTimeout(timer)
    timers = []
  }

  function start() {
    clear()
    if (watched) {
      listen(true)
      askForReports()
      timers = [setInterval(askForReports, OBSERVE_EVERY_MS)]
    } else {
      const again = () => {
        clear()
        listenForAMoment()
        timers.push(setTimeout(again, LISTEN_EVERY_MS))
      }
      again()
    }
  }

  start()
  return {
    setWatched(next) {
      if (next === watched) return
      watched = next
      picture.setWatched(next)
      start()
    },
    stop() {
      clear()
      for (const stopOne of stopGathering) stopOne()
    },
  }
}
