// Limits of the search.

/** Results of each kind, unless the request says otherwise. */
export const defaultResults = 5

/** Numbers of an account that are compared with a text. */
export const examinedNumbers = 10_000

/** Channels of an account whose messages with a number are looked up. */
export const searchedChannels = 1_000

/** Countries of the account's numbers by which national spellings are read. */
export const maxCountries = 20

/** Characters of a message that a result shows. */
export const shownText = 160
