import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { tell } from './reporter.ts'

// Runs several test files in this process, one after the other, each as one test that holds those of the file: its hooks
// run when it is over. What the files share of this is a process with the modules loaded: 0.4 to 1.2 s of processor time.

// It drops databases at the end of whatever loads it first: here, of all files.
await import('../../test/database.ts')

for (const file of process.argv.slice(2)) {
  tell({ kind: 'begin' })
  await test(file, async () => {
    await import(pathToFileURL(file).href)
  })
  // The next file may hold the event loop for ever: what is known of this one is told before.
  await setImmediate()
}
