/** Applications of an account. */
export const maxApplications = 500

/** Seconds that a program may take for an answer. */
export const answerSeconds = { least: 1, most: 15, ordinary: 8 } as const
