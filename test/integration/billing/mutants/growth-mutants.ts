import { PRICE_OF_NOW, type Mutant } from './money-mutants.ts'

/** Plausible mistakes in the growth of holds. Histories reveal them. */
export const GROWTH_MUTANTS: readonly Mutant[] = [
  {
    name: 'a resize makes a hold smaller',
    of: 'resize',
    edits: [['case when call.input is null then hold.granted_output + 1 else 0 end', '0']],
  },
  {
    name: 'a resize is granted although the hold does not grow',
    of: 'resize',
    edits: [['hold.granted_output + 1 else', 'hold.granted_output else']],
  },
  {
    name: 'a resize ignores the limit of the key',
    of: 'resize',
    edits: [['least(free, key_frees[call.budget_number]) + former', 'free + former']],
  },
  {
    name: 'a resize that the limit of the key stops is called a lack of credits',
    of: 'resize',
    edits: [
      [
        'elsif affordable_output(free + former, input,',
        'elsif false and affordable_output(free + former, input,',
      ],
    ],
  },
  {
    name: 'a resize does not count the own hold as available',
    of: 'resize',
    edits: [['key_frees[call.budget_number]) + former,', 'key_frees[call.budget_number]),']],
  },
  {
    name: 'resizes of one batch all spend the same credits',
    of: 'resize',
    edits: [['free := free + former - hold.amount;', '']],
  },
  {
    name: 'resizes of one batch all spend the same limit of a key',
    of: 'resize',
    edits: [['key_frees[call.budget_number] := key_frees[call.budget_number] + former - hold.amount;', '']],
  },
  {
    name: 'a resize does not count in the budget',
    of: 'resize',
    edits: [['set held = b.held + d.difference', 'set held = b.held']],
  },
  {
    name: 'a resize of a stopped key makes the hold larger',
    of: 'resize',
    edits: [['elsif call.key_works is not true then', 'elsif false then']],
  },
  {
    name: 'a resize computes with the estimate after a counted input',
    of: 'resize',
    edits: [
      [
        'coalesce(call.input, hold.exact_input, hold.input_tokens)',
        'coalesce(call.input, hold.input_tokens)',
      ],
    ],
  },
  {
    name: 'a resize asks the price of now',
    of: 'resize',
    edits: [['left join price_versions p on p.id = r.price_version', PRICE_OF_NOW]],
  },
  {
    name: 'a resize that grants a part of the wish does not call it clamped',
    of: 'resize',
    edits: [['hold.clamped := granted < most', 'hold.clamped := false']],
  },
  {
    name: 'a resize does not write the larger amount',
    of: 'resize',
    edits: [['amount = h.amount, granted_output', 'granted_output']],
  },
]
