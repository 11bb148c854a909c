import { startPlatform, until } from '../../../../test/platform.ts'
import { startGraph, verifyToken } from '../../../../test/whatsapp-cloud/graph.ts'
import { chatSuite, type SeenMessage } from './chat.conformance.ts'

const ours = '+447700900321'

chatSuite('the Cloud API of WhatsApp', async () => {
  const platform = await startPlatform()
  const graph = await startGraph()
  const { call, url } = platform
  const must = async (path: string, body: object) => {
    const answer = await call('POST', path, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  // Two others first, so the number is on the second page.
  for (const number of ['+447700900319', '+447700900320', ours])
    await graph.control('POST', 'phones', { number, name: 'Our shop' })
  const { connection } = await must('/operator/connections', {
    kind: 'whatsapp-cloud',
    name: 'the shop',
    settings: graph.settings,
    account_uuids: [(await call('GET', '/open/info')).body.account.uuid],
  })
  await graph.control('POST', 'callback', {
    url: `${url}/callbacks/msgapp/${connection.uuid}`,
    verify_token: verifyToken,
  })
  const { channel } = await must('/open/msgapp/channel/create', { phone_number: ours, connection: connection.uuid })
  await until(
    async () => (await call('GET', `/open/msgapp/channel/${channel.uuid}/status`)).body.connection_status === 'C',
  )
  const profile = (): Promise<{ picture?: string; about?: string }> => graph.control('GET', `profile/${ours.slice(1)}`)
  let people = 0
  return {
    call,
    channel: { uuid: channel.uuid, number: ours },
    unknownNumber: '+447400120006',
    newPerson: async () => {
      const number = `+447400${140_000 + ++people * 10 + 8}`
      await graph.control('POST', 'people', { number, open: true })
      const act = (what: string, more: object = {}) => graph.control('POST', what, { number, to: ours, ...more })
      let wrote = ''
      return {
        number,
        seen: async (): Promise<SeenMessage[]> => (await graph.control('GET', `people/${number.slice(1)}`)).received,
        write: async (message) => {
          wrote = (await act('write', message)).id
        },
        gotReadReceipt: async () => {
          const { requests }: { requests: { body: string }[] } = await graph.control('GET', 'log')
          return requests.some(({ body }) => body.includes('"status":"read"') && body.includes(wrote))
        },
        read: () => act('read'),
        call: () => act('call'),
        picture: async () => (await profile()).picture ?? null,
        status: async () => (await profile()).about ?? null,
      }
    },
    freeze: graph.freeze,
    thaw: graph.thaw,
    end: async () => {
      await platform.end()
      await graph.stop()
    },
  }
})
