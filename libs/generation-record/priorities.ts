/** BullMQ serves the lowest priority first. What is queued again after a decline goes before every fair tag. */
export const REQUEUE_PRIORITY = 1

export const FIRST_TAG = REQUEUE_PRIORITY + 1
