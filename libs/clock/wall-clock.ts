/**
 * The date, in Unix ms, as this machine's clock has it. It may be wrong, and step by hours in either direction, so it is
 * for dates alone: those that are shown, written or compared with other dates. Whatever lasts (a deadline, a pause, a
 * rate, how old something is) is measured by `performance.now()`, which never steps. No other module reads the wall clock.
 */
export const wallClockMs = (): number => Date.now()
