// Node runs `after` hooks in the order of their registration, so the hook of an imported helper runs before those of the
// test file. Endings run in reverse order instead: a platform that uses a database ends before the database.
// database.ts runs them at the end of its process, and shared-process.ts after each file.

type Ending = () => unknown

const endings: Ending[] = []

/** Registers an ending of the test file. Endings run in reverse order. */
export const atEnd = (ending: Ending): void => {
  endings.push(ending)
}

/** Runs the registered endings. @throws the first error, after all endings have run */
export const runEndings = async (): Promise<void> => {
  const errors: unknown[] = []
  for (let ending = endings.pop(); ending !== undefined; ending = endings.pop())
    try {
      await ending()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw errors[0]
}

const processEndings: Ending[] = []
let isShared = false

/** Whether several test files share this process. */
export const isProcessShared = (): boolean => isShared

/** Registers the ending of a thing that the files of a shared process use one after the other. */
export const atProcessEnd = (ending: Ending): void => {
  processEndings.push(ending)
}

/** Declares that several test files share this process. @returns what runs the endings of the process */
export const shareProcess = (): (() => Promise<void>) => {
  isShared = true
  return async () => {
    for (const ending of processEndings.splice(0)) await ending()
  }
}
