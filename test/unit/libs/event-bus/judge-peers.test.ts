import { expect, test } from 'vitest'
import { judgePeers, type Clocks, type JudgedPeer, type JudgeLimits } from '#libs/event-bus/judge-peers.ts'

const LIMITS: JudgeLimits = {
  ownKind: 'gateway',
  ttlMs: 2_000,
  gatewayExtraMs: 7_000,
  listenFirstMs: 5_000,
  cutOffMs: 15_000,
  stallMs: 1_250,
}
/** A worker whose last heartbeat came a second ago. */
const HEARD: JudgedPeer = {
  kind: 'worker',
  wasHeard: true,
  isWatched: false,
  isCutOff: false,
  seenMs: 99_000,
  missingSinceMs: null,
  nextLookMs: 0,
  key: 'not-read',
}
/** Clocks of a process that has listened for a long time. The bus echoed just now, and the queue Redis answers. */
const CLOCKS: Clocks = {
  nowMs: 100_000,
  startedMs: 0,
  checkedMs: 99_750,
  echoMs: 99_900,
  storeAnswersSinceMs: 1_000,
}
const SILENT = { seenMs: 97_000 }
const GONE = { ...SILENT, key: 'gone', missingSinceMs: 100_000 } as const
const NEVER_HEARD = { wasHeard: false, isWatched: true }
const CUT_OFF = { seenMs: 84_999, key: 'exists' } as const

type Case = [state: string, peer: Partial<JudgedPeer>, clocks: Partial<Clocks>, verdict: string | null]

test.each<Case>([
  ['heard', {}, {}, null],
  ['heard exactly one silence ago', { seenMs: 98_000 }, {}, null],
  ['silent, no echo since the silence began to count', { seenMs: 97_999 }, { echoMs: 99_999 }, 'echo'],
  ['silent, an echo since', SILENT, {}, 'look'],
  ['silent, the key is being read', { ...SILENT, nextLookMs: Infinity }, {}, null],
  ['silent, the key was read and has time left', { ...SILENT, nextLookMs: 100_001 }, {}, null],
  ['a gateway has seven seconds more', { kind: 'gateway', isWatched: true, seenMs: 91_000 }, {}, null],
  [
    'a watched gateway that was silent for longer',
    { kind: 'gateway', isWatched: true, seenMs: 90_000 },
    {},
    'look',
  ],
  ['of the own kind, silent, watched by nobody', { kind: 'gateway', seenMs: 90_000 }, {}, null],
  ['… for so long that it would be cut off', { kind: 'gateway', seenMs: 84_999 }, {}, 'forget'],
  ['silent, and this process has not listened for long', SILENT, { startedMs: 95_001 }, null],
  ['silent, and this process stalled', SILENT, { checkedMs: 98_749 }, null],

  ['the key exists', { ...SILENT, key: 'exists' }, {}, null],
  ['the key exists, for longer without a heartbeat than allowed', CUT_OFF, {}, 'cut-off'],
  ['… and that was reported', { ...CUT_OFF, isCutOff: true }, {}, null],
  ['… and no echo came back since', CUT_OFF, { echoMs: 86_999 }, null],
  ['the key of a suspect exists, which was never heard', { wasHeard: false, key: 'exists' }, {}, 'forget'],
  ['… and which is watched', { ...NEVER_HEARD, key: 'exists' }, {}, null],

  ['the key is gone', GONE, {}, 'dead'],
  ['the key is gone, and it was heard since', { key: 'gone', missingSinceMs: 100_000 }, {}, null],
  ['the key is gone, and no echo came back since', GONE, { echoMs: 98_999 }, null],
  ['the key is gone, and the queue Redis failed', GONE, { storeAnswersSinceMs: null }, null],
  ['… and has answered for less than one silence', GONE, { storeAnswersSinceMs: 98_001 }, null],
  ['… and for one silence', GONE, { storeAnswersSinceMs: 98_000 }, 'dead'],
  ['the key is gone, and this process stalled', GONE, { checkedMs: 98_749 }, null],
  ['the key is gone, and this process has not listened for long', GONE, { startedMs: 95_001 }, null],
  ['the key of a process that was never heard is gone', { ...GONE, ...NEVER_HEARD }, {}, null],
  [
    '… and was so a moment less than two seconds ago',
    { ...GONE, ...NEVER_HEARD, missingSinceMs: 98_001 },
    {},
    null,
  ],
  ['… and was so two seconds ago', { ...GONE, ...NEVER_HEARD, missingSinceMs: 98_000 }, {}, 'dead'],
  ['an earlier look found no key', { ...SILENT, missingSinceMs: 90_000 }, {}, 'look'],
])('%s', (...[, peer, clocks, verdict]) => {
  const verdicts = judgePeers([['peer', { ...HEARD, ...peer }]], { ...CLOCKS, ...clocks }, LIMITS)
  expect(verdicts.map((it) => it.verdict)).toEqual(verdict === null ? [] : [verdict])
})

test('each peer is judged by itself', () => {
  const peers = new Map<string, JudgedPeer>([
    ['heard', HEARD],
    ['silent', { ...HEARD, ...SILENT }],
    ['dead', { ...HEARD, ...GONE }],
  ])
  expect(judgePeers(peers, CLOCKS, LIMITS).map(({ id, verdict }) => [id, verdict])).toEqual([
    ['silent', 'look'],
    ['dead', 'dead'],
  ])
})
