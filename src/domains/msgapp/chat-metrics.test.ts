import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startProsodyPlatform } from '../../../test/counterparts/prosody-platform.ts'
import { needs } from '../../../test/needs.ts'
import { until } from '../../../test/platform.ts'
import { openXmppClient } from '../../../test/xmpp-client.ts'

// Metrics of a chat connection, over an independent server.

test(
  'metrics show what a chat network accepts and rejects, by condition, and how long it takes',
  needs('prosody'),
  async (t) => {
    const network = await startProsodyPlatform('component')
    after(network.end)
    const { call, channel, me, unknownNumber, numbers, server } = network
    const [odd = ''] = numbers
    const send = async (to_number: string, text: string) => {
      const sent = await call('POST', '/open/msgapp/send-message', { from_number: channel.number, to_number, text })
      assert.equal(sent.status, 202, JSON.stringify(sent.body))
    }
    /** A person whose client rejects each message with a non-standard condition. */
    const other = await openXmppClient(t, server, odd.slice(1), {
      heard: ({ tag, attrs: { id = '', type } }) => {
        if (tag !== 'message' || type === 'error') return
        const error = `<error type='cancel'><zqx${id.length} xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>`
        other.write(`<message to='${me}' id='${id}' type='error'>${error}</message>`)
      },
    })
    await send(odd, 'one')
    await send(unknownNumber, 'two')
    await send(unknownNumber, 'three')
    const figures = await until(async () => {
      const text = await (await fetch(`${network.url}/metrics`)).text()
      const isWhole = /refusals_total\{connection="people",condition="service-unavailable"\} 2\n/.test(text)
      return isWhole && text.includes('condition="other"') && text
    })
    assert.match(figures, /trunkline_msgapp_submits_total\{connection="people",outcome="accepted"\} 3\n/)
    assert.match(figures, /trunkline_msgapp_refusals_total\{connection="people",condition="other"\} 1\n/)
    assert.match(figures, /trunkline_msgapp_submit_duration_seconds_count\{connection="people"\} 3\n/)
    assert.match(figures, /trunkline_msgapp_link_in_flight\{connection="people"\} 0\n/)
    assert.ok(!figures.includes('zqx'))
  },
)
