import { z } from 'zod'

/**
 * The most answers to its one prompt that a request may want. These answers are its choices, numbered from 0. One
 * generation makes all of them: its worker renders the prompt once and calls the engine once for each choice.
 */
export const MAX_CHOICES = 8

/** The output of a choice over all epochs: how many token ids it has. If it has ended, no further epoch runs it. */
export const ChoiceState = z.object({ count: z.int().min(0), ended: z.boolean() })
export type ChoiceState = z.infer<typeof ChoiceState>
