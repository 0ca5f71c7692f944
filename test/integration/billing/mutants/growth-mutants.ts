import { PRICE_OF_NOW, type Mutant } from './money-mutants.ts'

/** Plausible mistakes in the growth of holds. Histories reveal them. */
export const GROWTH_MUTANTS: readonly Mutant[] = [
  {
    name: 'an extend makes a hold smaller',
    of: 'extend',
    edits: [
      ['if call.most > call.granted_output then', 'if call.most <> call.granted_output then'],
      ['if granted is null or granted <= call.granted_output then', 'if granted is null then'],
    ],
  },
  {
    name: 'an extend is granted although the hold does not grow',
    of: 'extend',
    edits: [['granted <= call.granted_output then', 'granted < call.granted_output then']],
  },
  {
    name: 'an extend ignores the limit of the key',
    of: 'extend',
    edits: [['least(free, key_frees[call.budget_number]) + call.held_amount', 'free + call.held_amount']],
  },
  {
    name: 'an extend that the limit of the key stops is called a lack of credits',
    of: 'extend',
    edits: [['if granted > call.granted_output then', 'if false then']],
  },
  {
    name: 'an extend does not count the own hold as available',
    of: 'extend',
    edits: [
      [
        'least(free, key_frees[call.budget_number]) + call.held_amount',
        'least(free, key_frees[call.budget_number])',
      ],
    ],
  },
  {
    name: 'extends of one batch all spend the same credits',
    of: 'extend',
    edits: [['free := free + call.held_amount - needed;', '']],
  },
  {
    name: 'extends of one batch all spend the same limit of a key',
    of: 'extend',
    edits: [
      ['key_frees[call.budget_number] := key_frees[call.budget_number] + call.held_amount - needed;', ''],
    ],
  },
  {
    name: 'an extend does not count in the budget',
    of: 'extend',
    edits: [['set held = b.held + d.difference', 'set held = b.held']],
  },
  {
    name: 'an extend of a stopped key makes the hold larger',
    of: 'extend',
    edits: [['if call.key_works is not true then', 'if false then']],
  },
  {
    name: 'an extend computes with the estimate after a replace',
    of: 'extend',
    edits: [['coalesce(r.exact_input, r.input_tokens) as input,', 'r.input_tokens as input,']],
  },
  {
    name: 'an extend asks the price of now',
    of: 'extend',
    edits: [
      [
        'left join price_versions p on p.id = r.price_version\n    order by a.id, c.first',
        `${PRICE_OF_NOW}\n    order by a.id, c.first`,
      ],
    ],
  },
  {
    name: 'an extend that grants a part of the wish does not call it clamped',
    of: 'extend',
    edits: [['then granted < call.most else call.clamped end', 'then false else call.clamped end']],
  },
  {
    name: 'an extend does not write the larger amount',
    of: 'extend',
    edits: [['amount = amounts[n], granted_output = grants[n]', 'granted_output = grants[n]']],
  },
  {
    name: 'of extends with one id the smallest counts',
    of: 'extend',
    edits: [['max(u.output) as output', 'min(u.output) as output']],
  },
]
