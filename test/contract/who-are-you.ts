/** The ids of "Who are you?" in the chat template of `models/tiny`. */
export const WHO_ARE_YOU = new Uint32Array([
  2001, 1141, 198, 54, 71, 272, 312, 294, 1521, 300, 955, 30, 2002, 198, 2001, 1524, 198,
])
