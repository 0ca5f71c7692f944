/**
 * The weights that an account may have: its share of a saturated model, relative to the other accounts. Most accounts have
 * the least weight.
 */
export const ACCOUNT_WEIGHT = { min: 1, max: 100 } as const
