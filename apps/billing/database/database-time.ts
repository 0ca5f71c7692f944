/** Unix milliseconds as a parameter of the type timestamptz. */
export const toTimestamp = (timeMs: number): string => new Date(timeMs).toISOString()

/** Milliseconds as a parameter of the type interval. */
export const toInterval = (durationMs: number): string => `${durationMs} milliseconds`
