/** The ends of messages of the form "'field': expected …". */
export const TEXT = 'expected text'
export const BOOLEAN = 'expected true or false'

/** The end of the message "'field' and 'alias' …", which refuses two fields with different values. */
export const DIFFER = 'differ: expected one of them, or the same value in both'
