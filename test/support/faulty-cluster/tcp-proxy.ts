import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'

/**
 * The state of a link.
 * - `open`: everything passes at once.
 * - `delayed`: each piece passes `ms` later, in order.
 * - `stalled`: nothing passes and nothing is lost; the pieces pass when the stall ends.
 * - `half-open`: pieces are lost, and neither side sees that the other closed its connection, as behind a router that
 *   lost its state. When this state ends, the connections are reset.
 * - `refused`: open connections are reset when this state begins. Each new connection is reset at once.
 */
export type LinkState =
  | { readonly kind: 'open' | 'stalled' | 'half-open' | 'refused' }
  | { readonly kind: 'delayed'; readonly ms: number }

export type TcpProxy = {
  readonly port: number
  /** Resets every connection. New connections pass. */
  cut(): void
  setState(state: LinkState): void
  /** Sets the target of new connections. Open connections keep their target. */
  setTarget(target: Target): void
  connections(): number
  close(): Promise<void>
}

export type Target = { readonly host: string; readonly port: number }

/** A connection through the proxy. */
type Pair = {
  apply(state: LinkState): void
  reset(): void
}

/**
 * Listens on a free loopback port and passes each connection on to the first of the targets that accepts it, like a
 * service address with several processes behind it.
 */
export async function startTcpProxy(given: readonly [Target, ...Target[]]): Promise<TcpProxy> {
  let targets: readonly Target[] = given
  const pairs = new Set<Pair>()
  let state: LinkState = { kind: 'open' }
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (client) => {
    client.on('error', () => {})
    if (state.kind === 'refused') {
      client.resetAndDestroy()
      return
    }
    const pair = join(client, targets, () => pairs.delete(pair))
    pairs.add(pair)
    pair.apply(state)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')

  function cut() {
    for (const pair of pairs) pair.reset()
    pairs.clear()
  }

  return {
    port: address.port,
    cut,
    setState(next) {
      state = next
      if (next.kind === 'refused') cut()
      for (const pair of pairs) pair.apply(next)
    },
    setTarget(target) {
      targets = [target]
    },
    connections: () => pairs.size,
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

function join(client: Socket, targets: readonly Target[], onClosed: () => void): Pair {
  let state: LinkState = { kind: 'open' }
  let broken = false
  let server: Socket | null = null
  const ways: Way[] = []

  function reset() {
    client.resetAndDestroy()
    server?.resetAndDestroy()
    for (const way of ways) way.stop()
    onClosed()
  }

  function couple(connected: Socket) {
    server = connected
    const close = () => {
      // In a half-open link the other side does not see the end.
      if (state.kind !== 'half-open') reset()
    }
    for (const socket of [client, connected]) socket.once('close', close)
    ways.push(createWay(client, connected), createWay(connected, client))
    for (const way of ways) way.apply(state)
  }

  function tryTarget(index: number) {
    const target = targets[index]
    if (target === undefined) {
      reset()
      return
    }
    const socket = connect({ ...target, allowHalfOpen: true, noDelay: true })
    socket.on('error', () => {})
    const failed = () => tryTarget(index + 1)
    socket.once('close', failed)
    socket.once('connect', () => {
      socket.off('close', failed)
      if (client.destroyed) socket.resetAndDestroy()
      else couple(socket)
    })
  }

  tryTarget(0)
  return {
    apply(next) {
      if (state.kind === 'half-open') broken = true
      state = next
      if (broken && next.kind !== 'half-open') reset()
      else for (const way of ways) way.apply(next)
    },
    reset,
  }
}

type Way = { apply(state: LinkState): void; stop(): void }

/** Creates one direction of a connection: it passes pieces from `from` to `to`, and also the end. */
function createWay(from: Socket, to: Socket): Way {
  let state: LinkState = { kind: 'open' }
  /** The waiting pieces. A null piece is the end. */
  const queue: { dueMs: number; piece: Buffer | null }[] = []
  let timer: NodeJS.Timeout | undefined

  function pass(piece: Buffer | null) {
    if (to.destroyed) return
    if (piece === null) {
      to.end()
    } else if (!to.write(piece)) {
      from.pause()
      to.once('drain', () => {
        if (state.kind !== 'stalled') from.resume()
      })
    }
  }

  function passDue() {
    timer = undefined
    const nowMs = performance.now()
    for (let next = queue[0]; next !== undefined && next.dueMs <= nowMs; next = queue[0]) {
      queue.shift()
      pass(next.piece)
    }
    const [first] = queue
    if (first !== undefined) timer = setTimeout(passDue, first.dueMs - nowMs)
  }

  function receive(piece: Buffer | null) {
    if (state.kind === 'half-open') return
    const delayMs = state.kind === 'delayed' ? state.ms : 0
    if (delayMs === 0 && queue.length === 0) {
      pass(piece)
      return
    }
    // A piece never passes before an earlier one.
    const dueMs = Math.max(performance.now() + delayMs, queue.at(-1)?.dueMs ?? 0)
    queue.push({ dueMs, piece })
    timer ??= setTimeout(passDue, dueMs - performance.now())
  }

  from.on('data', (piece: Buffer) => receive(piece))
  from.once('end', () => receive(null))
  return {
    apply(next) {
      state = next
      if (next.kind === 'stalled') from.pause()
      else from.resume()
    },
    stop: () => clearTimeout(timer),
  }
}
