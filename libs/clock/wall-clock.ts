/**
 * Returns the date, in Unix ms, of this machine's clock. The clock may be wrong, and may step by hours in either
 * direction. So it is used only for dates that are shown, written or compared with other dates. Durations (a deadline,
 * a pause, a rate, an age) are measured by `performance.now()`, which never steps. No other module reads the wall
 * clock.
 */
export const wallClockMs = (): number => Date.now()
