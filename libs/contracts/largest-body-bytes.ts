/**
 * The largest body of a request that any gateway accepts: 32 MiB. A gateway may be configured for less. Workers derive
 * from this constant how large a queued request may be after decompression.
 */
export const LARGEST_BODY_BYTES = 32 * 1024 * 1024
