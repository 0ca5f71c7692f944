/** Texts that end up in the message "'field': expected …". */
export const TEXT = 'expected text'
export const BOOLEAN = 'expected true or false'

/** The text of "'one field' and 'another' …", of two that may not differ. */
export const DIFFER = 'say different things: expected one of them, or the same in both'
