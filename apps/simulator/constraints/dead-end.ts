/**
 * Stands in a text for a place where the grammar allows no token. The engine ends a generation there with an error, after
 * the tokens before it. It is a code point that is no character, so no other text has it.
 */
export const DEAD_END = '\u{10FFFF}'
