import type { ProcessKind } from './heartbeat.ts'

/*
 * The states of a peer. Only the last two are reported, and a heartbeat leads back to the first from each of them.
 *
 * HEARD
 *   Its last heartbeat is younger than its silence: `ttlMs` for a worker, 7 s more for a gateway, because the death of a
 *   gateway ends what it runs, while the generations of a worker go on elsewhere. A peer that is only watched counts as
 *   heard when this process began to listen.
 *   - The silence is over: SILENT.
 *
 * SILENT
 *   The bus may be at fault and not the peer. Verdict `echo`: this process sends a message to itself.
 *   - An echo comes back that is younger than the end of the silence: DOUBTED.
 *   - It is a process of this one's own kind that nobody watches: nothing, and after `cutOffMs` it is forgotten.
 *
 * DOUBTED
 *   The bus works and brings nothing of the peer. Verdict `look`: its liveness key is read.
 *   - The key exists: PRESENT.
 *   - The key is gone: MISSING.
 *   - The queue Redis does not answer: DOUBTED, and its clock of answers begins again.
 *
 * PRESENT
 *   It writes its key, so it lives. The next look is due when the key would have expired.
 *   - It was never heard and is not watched: it is forgotten.
 *   - It has been silent for `cutOffMs`: CUT OFF.
 *
 * MISSING
 *   Its key is gone, which may also be the work of a Redis that failed over or restarted. Verdict `look` again at once.
 *   - The queue Redis has answered for one whole silence, and the peer was heard before: DEAD.
 *   - It was never heard, so it may be about to write its first key: DEAD only when the key is missing for 2 s.
 *
 * CUT OFF
 *   It lives, but the bus does not bring its messages. Reported once for each silence.
 *
 * DEAD
 *   Reported once. It may have been judged wrongly, as a process that was frozen is: then its next heartbeat revives it.
 *
 * No state is left for a worse one before this process has listened for `listenFirstMs`, nor in a turn in which it
 * stalled: the heartbeats of that time are not read yet.
 */

/** A peer as the last messages and looks show it. */
export type JudgedPeer = {
  readonly kind: ProcessKind
  readonly wasHeard: boolean
  readonly isWatched: boolean
  /** It was reported as cut off, and not heard since. */
  readonly isCutOff: boolean
  /** When it was heard last; before that, since when this process listens. */
  readonly seenMs: number
  /** The first of the looks that found no key; null after one that found it. */
  readonly missingSinceMs: number | null
  /** Infinity while a look is under way. */
  readonly nextLookMs: number
  /** The result of the look that has ended just now. An older one proves nothing. */
  readonly key: 'not-read' | 'exists' | 'gone'
}

/** This process's own clocks; all times are of one monotonic clock. */
export type Clocks = {
  readonly nowMs: number
  readonly startedMs: number
  /** The last check before now. */
  readonly checkedMs: number
  /** The last echo over the bus. */
  readonly echoMs: number
  /** Since when the queue Redis has answered without a failure; null while it does not. */
  readonly storeAnswersSinceMs: number | null
}

export type JudgeLimits = {
  readonly ownKind: ProcessKind
  readonly ttlMs: number
  readonly gatewayExtraMs: number
  readonly listenFirstMs: number
  readonly cutOffMs: number
  /** A check that comes so much later than the one before shows that this process stalled. */
  readonly stallMs: number
}

export type Verdict = 'echo' | 'look' | 'forget' | 'cut-off' | 'dead'

/** A process that was never heard must miss its key for so long: it may be about to write it. */
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

/** How long a process of this kind may be silent, and for how long its liveness key lasts. */
export function silenceMs(kind: ProcessKind, { ttlMs, gatewayExtraMs }: JudgeLimits): number {
  return kind === 'gateway' ? ttlMs + gatewayExtraMs : ttlMs
}

/** True when the last check is too old for what arrived since to be read. */
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
