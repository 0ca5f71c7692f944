/**
 * The most answers to its one prompt that a request may want. These answers are its choices, numbered from 0. One
 * generation makes all of them: its worker renders the prompt once and calls the engine once for each choice.
 */
export const MAX_CHOICES = 8
