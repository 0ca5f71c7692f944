/** Texts that end up in the message "'field': expected …". */
export const TEXT = 'expected text'
export const BOOLEAN = 'expected true or false'
