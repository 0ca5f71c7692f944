/** `ACL SETUSER` of the Redis user that docs/operators.md gives to BullMQ's tools: it reads the queues, and writes nothing. */
export const queueReader = (password: string): readonly string[] => [
  'board',
  'on',
  `>${password}`,
  ...'resetkeys resetchannels ~mr2:{*}:generations:*'.split(' '),
  ...'-@all +hello +ping +info +select +client|setname +client|list +cluster|slots +cluster|info'.split(' '),
  ...'+eval +evalsha +hget +hgetall +hmget +hexists +llen +lrange +zcard +zrange +zcount'.split(' '),
  ...'+zrevrange +exists +get'.split(' '),
]
