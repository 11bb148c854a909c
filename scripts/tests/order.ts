/**
 * The files that take long, the longest first: both cores are then busy to the end. What is missing here is only run later;
 * `npm test` prints the files that took over 10 s.
 */
const longest = ['test/postgres15.test.ts', 'test/fuzz.test.ts', 'test/chaos/deliverers.test.ts']

/** Those that take long first, the rest in the order given. */
export const longestFirst = (files: readonly string[]): string[] => {
  const known = longest.filter((file) => files.includes(file))
  return [...known, ...files.filter((file) => !known.includes(file))]
}
