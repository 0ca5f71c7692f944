/**
 * Returns the `ACL SETUSER` rules of the Redis user that docs/operators.md gives to BullMQ's tools. This user may read
 * the queues and may write nothing.
 */
export const queueReader = (password: string): readonly string[] => [
  'board',
  'on',
  `>${password}`,
  ...'resetkeys resetchannels ~mr2:main:{*}:generations:*'.split(' '),
  ...'-@all +@read -@dangerous +eval +evalsha +hello +ping +info +select'.split(' '),
  ...'+client|setname +client|list +cluster|slots +cluster|info'.split(' '),
]
