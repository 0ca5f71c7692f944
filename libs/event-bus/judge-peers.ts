import type { ProcessKind } from './heartbeat.ts'

/*
 * The states of a peer. Only the last two are reported, and a heartbeat leads from each state back to the first. A peer
 * *was heard* if this process has received a heartbeat of it.
 *
 * HEARD
 *   The last heartbeat is younger than the allowed silence: `ttlMs` for a worker, 7 s more for a gateway, because the
 *   death of a gateway ends the generations that it runs, while the generations of a worker go on elsewhere. For a
 *   watched peer that was never heard, the silence begins when this process begins to listen.
 *   - The allowed silence is over: SILENT.
 *
 * SILENT
 *   Either the peer or the bus may be at fault. Verdict `echo`: this process sends a message to itself.
 *   - An echo arrives after the end of the allowed silence: DOUBTED.
 *   - The peer is of this process's own kind and nobody watches it: no check, and after `cutOffMs` it is forgotten.
 *
 * DOUBTED
 *   The bus works, but no message of the peer arrives. Verdict `look`: the peer's liveness key is read.
 *   - The key exists: PRESENT.
 *   - The key is gone: MISSING.
 *   - The queue Redis does not answer: DOUBTED, and `storeAnswersSinceMs` begins again.
 *
 * PRESENT
 *   The peer writes its key, so it lives. The next look is due when the key would have expired.
 *   - The peer was never heard and is not watched: it is forgotten.
 *   - The peer has been silent for `cutOffMs`: CUT OFF.
 *
 * MISSING
 *   The peer's key is gone. A Redis that failed over or restarted may also have lost the key. Verdict `look` again at
 *   the next check.
 *   - The peer was heard before, and the queue Redis has answered for as long as the allowed silence: DEAD.
 *   - The peer was never heard, so it may be about to write its first key: DEAD only after 2 s without the key.
 *
 * CUT OFF
 *   The peer lives, but the bus does not deliver its messages. Reported once for each silence.
 *
 * DEAD
 *   Reported once. The judgement may be wrong, for example about a frozen process; the peer's next heartbeat revives
 *   it.
 *
 * A peer moves to a worse state only after this process has listened for `listenFirstMs`, and not directly after a
 * stall of this process (`isStalled`), because the heartbeats that arrived during the stall are not read yet.
 */

/** A peer as its last messages and the last looks at its key show it. */
export type JudgedPeer = {
  readonly kind: ProcessKind
  readonly wasHeard: boolean
  readonly isWatched: boolean
  /** True if the peer was reported as cut off and has not been heard since. */
  readonly isCutOff: boolean
  /** The time of the peer's last message; before its first message, the time at which this process began to listen. */
  readonly seenMs: number
  /** The time of the first look that found no key; null after a look that found the key. */
  readonly missingSinceMs: number | null
  /** The time of the next look; Infinity while a look is running. */
  readonly nextLookMs: number
  /** The result of the look that has just ended. An older result proves nothing. */
  readonly key: 'not-read' | 'exists' | 'gone'
}

/** This process's own clocks. All times are from one monotonic clock. */
export type Clocks = {
  readonly nowMs: number
  readonly startedMs: number
  /** The time of the last check before now. */
  readonly checkedMs: number
  /** The time of the last echo over the bus. */
  readonly echoMs: number
  /** The time since which the queue Redis has answered without a failure; null while it does not answer. */
  readonly storeAnswersSinceMs: number | null
}

export type JudgeLimits = {
  readonly ownKind: ProcessKind
  readonly ttlMs: number
  readonly gatewayExtraMs: number
  readonly listenFirstMs: number
  readonly cutOffMs: number
  /** If more time than this has passed since the previous check, this process stalled. */
  readonly stallMs: number
}

export type Verdict = 'echo' | 'look' | 'forget' | 'cut-off' | 'dead'

/**
 * If no heartbeat of a process was ever received, the process counts as dead only after its liveness key has been
 * missing for this time, because the process may be about to write the key for the first time.
 */
const SECOND_LOOK_MS = 2_000

/** Returns a verdict for each peer whose state asks for an action. Changes nothing. */
export function judgePeers<Peer extends JudgedPeer>(
  peers: Iterable<readonly [id: string, peer: Peer]>,
  clocks: Clocks,
  limits: JudgeLimits,
): { readonly id: string; readonly peer: Peer; readonly verdict: Verdict }[] {
  const verdicts = []
  for (const [id, peer] of peers) {
    const verdict =
      peer.key === 'not-read' ? judgeSilence(peer, clocks, limits) : judgeKey(peer, clocks, limits)
    if (verdict !== null) verdicts.push({ id, peer, verdict })
  }
  return verdicts
}

/** Returns how long a process of this kind may be silent. Its liveness key lasts as long. */
export function silenceMs(kind: ProcessKind, { ttlMs, gatewayExtraMs }: JudgeLimits): number {
  return kind === 'gateway' ? ttlMs + gatewayExtraMs : ttlMs
}

/** True if the last check is so old that messages may have arrived since and not been read. */
export function isStalled({ nowMs, checkedMs }: Clocks, { stallMs }: JudgeLimits): boolean {
  return nowMs - checkedMs > stallMs
}

function judgeSilence(peer: JudgedPeer, clocks: Clocks, limits: JudgeLimits): Verdict | null {
  const { nowMs, echoMs } = clocks
  const silentAtMs = peer.seenMs + silenceMs(peer.kind, limits)
  if (!mayJudge(clocks, limits) || nowMs <= silentAtMs) return null
  if (peer.kind === limits.ownKind && !peer.isWatched) {
    return nowMs - peer.seenMs > limits.cutOffMs ? 'forget' : null
  }
  if (echoMs <= silentAtMs) return 'echo'
  return nowMs >= peer.nextLookMs ? 'look' : null
}

function judgeKey(peer: JudgedPeer, clocks: Clocks, limits: JudgeLimits): Verdict | null {
  const { nowMs, echoMs, storeAnswersSinceMs } = clocks
  const silence = silenceMs(peer.kind, limits)
  const isSilent = mayJudge(clocks, limits) && echoMs > peer.seenMs + silence
  if (peer.key === 'exists') {
    if (!peer.wasHeard && !peer.isWatched) return 'forget'
    return isSilent && !peer.isCutOff && nowMs - peer.seenMs > limits.cutOffMs ? 'cut-off' : null
  }
  const isMissed =
    peer.wasHeard || (peer.missingSinceMs !== null && nowMs - peer.missingSinceMs >= SECOND_LOOK_MS)
  const hasStoreAnswered = storeAnswersSinceMs !== null && nowMs - storeAnswersSinceMs >= silence
  return isSilent && isMissed && hasStoreAnswered ? 'dead' : null
}

function mayJudge(clocks: Clocks, limits: JudgeLimits): boolean {
  return clocks.nowMs - clocks.startedMs >= limits.listenFirstMs && !isStalled(clocks, limits)
}
