import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/servers.ts'
import { installed } from '../../../test/whatsapp-web/installed.ts'
import type { ChatLineState } from '../chat-port.ts'
import { connectWhatsappWeb } from './network.ts'
import type { WhatsappWebSettings } from './settings.ts'

const { folder, skip } = installed()
const ignored = async () => {}

/** The network on a machine where the library is not installed, and how a line comes to stand there. */
const start = (settings: WhatsappWebSettings, home = '/nowhere') => {
  let told: (state: ChatLineState) => void = () => {}
  const network = connectWhatsappWeb(settings, {
    home,
    log: () => {},
    vault: { read: async () => new Map(), write: ignored, forget: ignored },
    events: {
      line: (_channel, state) => state.phase === 'connecting' || told(state),
      inbound: ignored,
      receipt: ignored,
      failure: ignored,
      edited: ignored,
      reaction: ignored,
      call: ignored,
      group: ignored,
      mapped: ignored,
      renamed: ignored,
    },
  })
  const standing = () => {
    const { promise, resolve } = Promise.withResolvers<ChatLineState>()
    told = resolve
    network.attach({ channel: 'one', number: '+447700900341', name: 'One', since: null })
    return promise
  }
  return { network, standing }
}

test('nothing is linked before the notice is accepted, and the refusal is the notice', async () => {
  const { network, standing } = start({})
  const { phase, fatal, reason } = await standing()
  assert.deepEqual([phase, fatal], ['failed', true])
  assert.match(reason, /terms forbid automated use.*GPL 3\.0.*accept_notice/)
  assert.deepEqual([network.state().state, network.state().lastError], ['down', reason])
})

test('without the library a number is failed and says how it is installed; then it is found', { skip }, async () => {
  const home = temporaryFolder()
  // Nobody listens there.
  const { network, standing } = start({ accept_notice: true, websocket_url: 'ws://127.0.0.1:9/' }, home)
  const { phase, fatal, reason } = await standing()
  assert.deepEqual([phase, fatal], ['failed', true])
  assert.match(reason, /npm run whatsapp-web/)
  symlinkSync(folder, join(home, 'whatsapp-web'))
  await network.detach('one', false)
  const state = await standing()
  assert.equal(state.phase, 'disconnected', state.reason)
  assert.equal(network.state().state, 'up')
  await network.close()
})
