/** BullMQ serves the lowest priority first. A ticket that is added again after a decline goes before every fair tag. */
export const REQUEUE_PRIORITY = 1

export const FIRST_TAG = REQUEUE_PRIORITY + 1
