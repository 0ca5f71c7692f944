import { ShortLivedMap } from '#libs/short-lived/short-lived-map.ts'
import type { Frame, GatewayMessage, Pulse, StreamState } from './frame.ts'
import { createStreamInbox, type InboxFeed, type LossReason, type StreamInbox } from './stream-inbox.ts'
import type { AskedStream, ControlSender, StreamEpoch } from './worker-control.ts'
import { createWorkerLink, type WorkerLink } from './worker-link.ts'

export type EventReceiver = {
  take(message: GatewayMessage): void
  /**
   * Asks every worker for its frames from the first missing one on. Must be called when messages may have been missed.
   */
  catchUp(): void
  /** Opens the inbox of a new generation. Call it before the generation is queued, so that no event is missed. */
  open(): StreamInbox
  openStreams(): number
  /**
   * Marks as lost every stream whose current epoch `worker` runs or is expected to run. Forgets which frames of
   * `worker` were received.
   */
  loseWorker(worker: string, reason: LossReason): void
  loseAll(reason: LossReason): void
  /** Records that the stream's generation is settled, so that its worker need not keep the stream any longer. */
  settled(worker: string, stream: number): void
  /** Must be called each second: asks for missing frames, and acknowledges the ones that arrived. */
  tick(): void
}

/**
 * An open stream. `tick` is called once a second. `knownTick` is the number of these calls at the time when the
 * stream's worker last sent an event of the stream or listed it in a pulse.
 */
type OpenStream = { readonly inbox: StreamInbox; readonly feed: InboxFeed; knownTick: number }

/** After this many seconds without an event of a running stream, the gateway asks the stream's worker about it. */
const QUIET_TICKS = 3

/**
 * The time for which events are merged while the event loop is late. It is longer than one step of most engines, so that
 * the events of two steps are one write to the caller.
 */
const MERGE_MS = 24
/** The first events of an epoch, up to the first output, are delivered at once. */
const FIRST_EVENTS = 4

/**
 * Distributes the messages of a gateway's channel to the inboxes of its generations. Stream numbers count up and are
 * never reused, so a late event cannot reach the wrong inbox.
 *
 * When a worker's frames or a stream's events have a gap, the missing frames are requested at once, and again each
 * second until the gap is filled. Events behind a gap are dropped; their frames are sent again together with the
 * missing ones.
 *
 * While the event loop is late (`isLoopLate`), the events of up to 25 ms are delivered together. The reason is that a
 * gateway writes once to each stream's socket for each delivery, and these writes are most of its work for a token.
 *
 * `onLate` is called with the number of events that were dropped for one of these reasons: their stream is not open or
 * has ended, they belong to another epoch than the current one, or another worker runs this epoch.
 */
export function createEventReceiver(options: {
  control: Pick<ControlSender, 'stop' | 'resend' | 'ask' | 'acknowledge'>
  onLate: (events: number) => void
  isLoopLate?: () => boolean
}): EventReceiver {
  const { control, onLate, isLoopLate = () => false } = options
  const streams = new ShortLivedMap<number, OpenStream>()
  const links = new Map<string, WorkerLink>()
  const stops = createStops(control.stop)
  /** The inboxes whose events are being merged. */
  const merging = new Set<InboxFeed>()
  let lastStream = 0
  let ticks = 0

  function linkOf(worker: string): WorkerLink {
    const known = links.get(worker)
    if (known !== undefined) return known
    const link = createWorkerLink({ worker, control })
    links.set(worker, link)
    return link
  }

  function takeFrame({ worker, number, entries }: Frame) {
    const link = linkOf(worker)
    if (!link.meet(number)) return
    const touched = new Set<InboxFeed>()
    const behind = new Set<StreamInbox>()
    let late = 0
    for (const entry of entries) {
      const open = streams.get(entry.stream)
      const acceptance = open === undefined ? 'stray' : open.feed.accept(entry, worker)
      if (acceptance === 'stray') {
        late += 1
        stops.add(worker, entry)
      } else if (open !== undefined && acceptance === 'accepted') {
        open.knownTick = ticks
        touched.add(open.feed)
      }
      if (open !== undefined && acceptance === 'gap') behind.add(open.inbox)
    }
    deliver(touched)
    if (late > 0) onLate(late)
    // A frame from which an event was dropped must come again, after the missing frame.
    if (behind.size === 0 || !link.isMissing(number)) {
      for (const inbox of behind) inbox.lose('frames-lost')
      link.take(number)
    }
    link.requestMissing('frame')
  }

  function deliver(feeds: ReadonlySet<InboxFeed>) {
    const merges = isLoopLate()
    for (const feed of feeds) {
      if (!merges || feed.state() !== 'open' || feed.lastSeq() <= FIRST_EVENTS) {
        feed.deliver()
        continue
      }
      if (merging.size === 0) setTimeout(deliverMerged, MERGE_MS)
      merging.add(feed)
    }
  }

  function deliverMerged() {
    for (const feed of merging) feed.deliver()
    merging.clear()
  }

  function takePulse(pulse: Pulse) {
    const link = linkOf(pulse.worker)
    link.applyPulse(pulse)
    for (const state of pulse.streams) {
      const open = streams.get(state.stream)
      if (open !== undefined) compare(open, state, link)
      else if (mayRun(state)) stops.add(pulse.worker, state)
      else link.noteStillKept(state.stream)
    }
    link.requestMissing('pulse')
  }

  function compare(open: OpenStream, state: StreamState, link: WorkerLink) {
    const { inbox, feed } = open
    const { worker } = link
    const heard = inbox.worker()
    const isCurrent =
      state.epoch === inbox.epoch() && (heard === null || heard === worker) && feed.state() !== 'lost'
    if (!isCurrent) {
      if (mayRun(state)) stops.add(worker, state)
      return
    }
    if (feed.state() === 'ended') return
    open.knownTick = ticks
    const isExpected = feed.expected()?.worker === worker
    if (state.state === 'unknown') {
      if (heard === worker) inbox.lose('not-running')
      else if (isExpected) feed.noteUnknown()
      return
    }
    if (isExpected) feed.noteKnown()
    if (state.state === 'claiming') return
    if (state.lastSeq > feed.lastSeq()) {
      if (!link.isMissing()) inbox.lose('frames-lost')
    } else if (state.state === 'ended' && (heard === worker || isExpected)) {
      // The worker has stopped the stream and sent no event about its end.
      inbox.lose('not-running')
    }
  }

  function askAboutStreams() {
    const questions = new Map<string, AskedStream[]>()
    for (const open of streams.values()) {
      const asked = toQuestion(open, ticks)
      if (asked === null) continue
      const list = questions.get(asked.worker)
      if (list === undefined) questions.set(asked.worker, [asked.question])
      else list.push(asked.question)
    }
    for (const [worker, list] of questions) void control.ask(worker, list)
  }

  return {
    take(message) {
      if (message.kind === 'frame') takeFrame(message)
      else takePulse(message)
    },
    catchUp() {
      for (const link of links.values()) link.requestRest()
      askAboutStreams()
    },
    open() {
      lastStream += 1
      const stream = lastStream
      const opened = createStreamInbox(
        stream,
        () => streams.delete(stream),
        (worker, epoch) => stops.add(worker, { stream, epoch }),
      )
      streams.set(stream, { ...opened, knownTick: ticks })
      return opened.inbox
    },
    openStreams: () => streams.size,
    loseWorker(worker, reason) {
      links.delete(worker)
      for (const { inbox, feed } of streams.values()) {
        if (inbox.worker() === worker || feed.expected()?.worker === worker) inbox.lose(reason)
      }
    },
    loseAll(reason) {
      for (const { inbox } of streams.values()) inbox.lose(reason)
    },
    settled(worker, stream) {
      links.get(worker)?.addSettled(stream)
    },
    tick() {
      ticks += 1
      stops.tick()
      for (const [worker, link] of links) {
        link.tick()
        if (link.isIdle()) links.delete(worker)
      }
      askAboutStreams()
    },
  }
}

/** Returns a stream's worker and the question whether it runs the stream; null if there is no reason to ask. */
function toQuestion(
  { inbox, feed, knownTick }: OpenStream,
  ticks: number,
): { worker: string; question: AskedStream } | null {
  if (feed.state() !== 'open') return null
  const expected = feed.expected()
  const worker = inbox.worker() ?? expected?.worker
  if (worker === undefined || (expected === null && ticks - knownTick < QUIET_TICKS)) return null
  return {
    worker,
    question: { stream: inbox.stream, epoch: inbox.epoch(), nonce: expected?.nonce ?? '' },
  }
}

const mayRun = ({ state }: StreamState) => state === 'running' || state === 'claiming'

/**
 * Collects, for each worker, the streams that it must stop, and sends it one message about all of them in the next
 * microtask. The request to stop a stream is repeated only after the next call of `tick`, because frames of the stream
 * still arrive until the worker has read the first request.
 */
function createStops(send: ControlSender['stop']) {
  let waiting = new Map<string, StreamEpoch[]>()
  const sent = new Set<string>()

  function flush() {
    const messages = waiting
    waiting = new Map()
    for (const [worker, streams] of messages) void send(worker, streams)
  }

  return {
    add(worker: string, { stream, epoch }: StreamEpoch) {
      const key = `${worker} ${stream} ${epoch}`
      if (sent.has(key)) return
      sent.add(key)
      if (waiting.size === 0) queueMicrotask(flush)
      const list = waiting.get(worker)
      if (list === undefined) waiting.set(worker, [{ stream, epoch }])
      else list.push({ stream, epoch })
    },
    tick() {
      sent.clear()
    },
  }
}
