import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { installed } from '../../../test/whatsapp-web/installed.ts'
import { openLibrary } from '../../../test/whatsapp-web/library.ts'
import { Person } from '../../../test/whatsapp-web/person.ts'

const { folder, skip } = installed()

test('a message of an older session leaves the newer session unchanged', { skip, timeout: 60_000 }, async () => {
  const library = await openLibrary(folder)
  const [ada, bob] = [new Person(library, '447400190018', '1'), new Person(library, '447400190028', '2')]

  /** The library does this for every contact after each start. */
  const begin = async () => {
    const { registrationId, signedIdentityKey, signedPreKey } = bob.identity
    const { keyId, keyPair, signature } = signedPreKey
    const identityKey = library.generateSignalPubKey(signedIdentityKey.public)
    const signed = { keyId, publicKey: library.generateSignalPubKey(keyPair.public), signature }
    await ada.signal.injectE2ESession({
      jid: bob.lidJid,
      session: { registrationId, identityKey, signedPreKey: signed },
    })
  }
  const pass = async (from: Person, to: Person, text: string) => {
    const data = library.encodeWAMessage({ conversation: text })
    const { type, ciphertext } = await from.signal.encryptMessage({ jid: to.lidJid, data })
    assert.equal((await to.open(from.lidJid, type, ciphertext)).conversation, text)
  }

  await begin()
  await pass(ada, bob, 'one')
  await pass(bob, ada, 'two')
  await begin()
  // Bob does not know the second session yet.
  await pass(bob, ada, 'three')
  await pass(ada, bob, 'four')
  await pass(bob, ada, 'five')
})

test('an unhandled error of the library does not end the process; other errors do', { skip, timeout: 60_000 }, () => {
  /** Exit of a process with such an error thrown by a module at this path. */
  const ending = (place: string) => {
    const script = `
      const { openLibrary } = await import(${JSON.stringify(pathToFileURL(join(import.meta.dirname, 'library.ts')).href)})
      await openLibrary(${JSON.stringify(dirname(folder))})
      const error = new Error('unhandled')
      error.stack = 'Error: nobody hears this\\n    at end (${place}/lib/Socket/socket.js:1:1)'
      void Promise.reject(error)
      setTimeout(() => process.exit(7), 100)`
    return spawnSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 30_000 }).status
  }
  assert.equal(ending('/srv/whatsapp-web/node_modules/baileys'), 7)
  assert.equal(ending('/srv/src/msgapp'), 1)
})
