/**
 * The weights that an account may have. The weight is the account's share of a saturated model, relative to the other
 * accounts. Until an operator changes it, an account has the default.
 */
export const ACCOUNT_WEIGHT = { min: 1, max: 100, default: 1 } as const
