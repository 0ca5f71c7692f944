import { expect, test } from 'vitest'
import { simulateConversations } from './simulate-conversations.ts'

test.each([0, 3_000])(
  'conversations with turns up to %i ms apart compute few tokens again, and use all engines alike',
  (thinkMs) => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const load = { turns: 10, thinkMs, seed: seed * 7_919 }
      const pinned = simulateConversations({ ...load, isPinned: true })
      const offered = simulateConversations(load)
      expect(offered.computedTokens / pinned.computedTokens).toBeLessThanOrEqual(1.15)
      expect(offered.imbalance).toBeLessThanOrEqual(1.25)
    }
  },
)
