/**
 * Differences from the last release that break clients on purpose, as `npm run check` prints them, each with its reason.
 * The list is emptied with each release.
 */
export const exceptions: Readonly<Record<string, string>> = {}
