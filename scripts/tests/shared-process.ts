import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { runEndings, shareProcess } from '../../test/endings.ts'
import { sendEvent } from './reporter.ts'

// Runs several test files in this process, one after the other. Each file is one test that contains the tests of the
// file, so its hooks run when the file ends. Sharing loaded modules saves 0.4 to 1.2 s of processor time per file.

// Loaded here, so that its hook belongs to the process and not to the first file.
await import('../../test/database.ts')

const endProcess = shareProcess()
for (const file of process.argv.slice(2)) {
  sendEvent({ kind: 'begin' })
  await test(file, async () => {
    await import(pathToFileURL(file).href)
    // Registered last, so that the file's own hooks still find its databases.
    after(runEndings)
  })
  // The next file may block the event loop, so events of this file are sent first.
  await setImmediate()
}
await endProcess()
