import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/servers.ts'
import { installed } from '../../../test/whatsapp-web/installed.ts'
import type { ChatChannelState } from '../../ports/chat.ts'
import { connectWhatsappWeb } from './whatsapp-web-network.ts'
import type { WhatsappWebSettings } from './whatsapp-web-settings.ts'

const { folder, skip } = installed()
const ignored = async () => {}

/** The network on a machine without the library, with the state that a number reaches. */
const start = (settings: WhatsappWebSettings, home = '/nowhere') => {
  let onState: (state: ChatChannelState) => void = () => {}
  const network = connectWhatsappWeb(settings, {
    home,
    log: () => {},
    credentials: { read: async () => new Map(), write: ignored, forget: ignored },
    events: {
      line: (_channel, state) => state.phase === 'connecting' || onState(state),
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
  const nextState = () => {
    const { promise, resolve } = Promise.withResolvers<ChatChannelState>()
    onState = resolve
    network.attach({ channel: 'one', number: '+447700900341', name: 'One', since: null })
    return promise
  }
  return { network, nextState }
}

test('nothing is linked before the notice is accepted, and the refusal is the notice', async () => {
  const { network, nextState } = start({})
  const { phase, fatal, reason } = await nextState()
  assert.deepEqual([phase, fatal], ['failed', true])
  assert.match(reason, /terms forbid automated use.*GPL 3\.0.*accept_notice/)
  assert.deepEqual([network.state().state, network.state().lastError], ['down', reason])
})

test('without the library a number fails with installation instructions, and works once it is installed', {
  skip,
}, async () => {
  const home = temporaryFolder()
  // No server listens there.
  const { network, nextState } = start({ accept_notice: true, websocket_url: 'ws://127.0.0.1:9/' }, home)
  const { phase, fatal, reason } = await nextState()
  assert.deepEqual([phase, fatal], ['failed', true])
  assert.match(reason, /npm run whatsapp-web/)
  symlinkSync(folder, join(home, 'whatsapp-web'))
  await network.detach('one', false)
  const state = await nextState()
  assert.equal(state.phase, 'disconnected', state.reason)
  assert.equal(network.state().state, 'up')
  await network.close()
})
