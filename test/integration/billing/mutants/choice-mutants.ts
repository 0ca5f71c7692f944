import type { Mutant } from './money-mutants.ts'

const LIMIT = 'choices::bigint * least(max_output, greatest(context_window - input, 1))'

/** Plausible mistakes in holds that several choices share. Histories reveal them. */
export const CHOICE_MUTANTS: readonly Mutant[] = [
  {
    name: 'the limits of a model hold for all choices together',
    of: 'output_limit',
    edits: [[LIMIT, 'least(max_output, greatest(context_window - input, 1))']],
  },
  {
    name: 'the output limit of a model holds for all choices together',
    of: 'output_limit',
    edits: [[LIMIT, 'least(max_output, choices::bigint * greatest(context_window - input, 1))']],
  },
  {
    name: 'the wanted output counts once for each choice',
    of: 'output_limit',
    edits: [['least(wanted, choices', 'least(choices * wanted, choices']],
  },
  {
    name: 'a reserve takes the limits of one choice for all',
    of: 'reserve',
    edits: [['call.input, call.choice_count)', 'call.input, 1)']],
  },
  {
    name: 'a reserve sets the input aside once for each choice',
    of: 'reserve',
    edits: [
      [
        'answer.amount := price_tokens(\n          call.input,',
        'answer.amount := price_tokens(\n          call.choice_count * call.input,',
      ],
    ],
  },
  {
    name: 'a resize takes the limits of one choice for all',
    of: 'resize',
    edits: [['input::integer, call.choice_count)', 'input::integer, 1)']],
  },
]
