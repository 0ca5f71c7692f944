import type { Mutant } from './money-mutants.ts'

/** Mistakes in the rule about the free tokens of failed generations. */
export const FREE_MUTANTS: readonly Mutant[] = [
  {
    name: 'every fault is free',
    of: 'settle',
    edits: [['if free + entry.fault_tokens > free_limit then', 'if false then']],
  },
  {
    name: 'the free tokens of a batch are forgotten',
    of: 'settle',
    edits: [['sum(frees[n])::bigint as free', '0::bigint as free']],
  },
  {
    name: 'free tokens are never given back',
    of: 'settle',
    edits: [
      [
        'case when a.free_hour = this_hour then a.free_tokens else 0 end as free_tokens',
        'a.free_tokens as free_tokens',
      ],
    ],
  },
]
