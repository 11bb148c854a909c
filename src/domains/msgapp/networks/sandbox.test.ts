import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { startPlatform, until } from '../../../../test/platform.ts'
import { chatSuite, type SeenMessage } from './chat.conformance.ts'

/** The sandbox carriers run in a child process of the platform. */
const carrierOf = (platform: number): number => {
  const isChild = (pid: string) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const isOurs = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === platform
      return isOurs && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('simulator')
    } catch {
      return false // it has ended
    }
  }
  return Number(readdirSync('/proc').find((name) => /^\d+$/.test(name) && isChild(name)))
}

chatSuite('the sandbox', async () => {
  const platform = await startPlatform()
  const { call } = platform
  const { uuid, phone_number: ours } = (await call('GET', '/open/msgapp/get-numbers')).body.numbers[0]
  await until(async () => (await call('GET', `/open/msgapp/channel/${uuid}/status`)).body.connection_status === 'C')
  const carrier = carrierOf(platform.pid)
  // The network's view of our own number. A result without extra information is requested once more, and cached then.
  const shown = async (query: string) =>
    (await call('GET', `/open/msgapp/check-number/${ours}/${ours}${query}`)).body.msgapp_info
  const picture = async (): Promise<string | null> => {
    const { contact_profile_pic: url } = await shown('')
    if (!url) return null
    const body = Buffer.from(await (await fetch(url)).arrayBuffer())
    return createHash('sha256').update(body).digest('hex')
  }
  const status = async (): Promise<string | null> => (await shown('?extra-information=true')).status_text ?? null
  let people = 0
  return {
    call,
    channel: { uuid, number: ours },
    unknownNumber: '+447400120006',
    newPerson: async () => {
      const number = `+447400${130_000 + ++people * 10 + 8}`
      const handset = `/sandbox/handsets/${number}`
      const act = async (what: string, body: object) => {
        const answer = await call('POST', `${handset}/${what}`, body)
        if (answer.status !== 202) throw new Error(`${what}: ${JSON.stringify(answer.body)}`)
      }
      return {
        number,
        seen: async (): Promise<SeenMessage[]> =>
          (await call('GET', handset)).body.msgapp.filter((one: { direction: string }) => one.direction === 'inbound'),
        gotReadReceipt: async () => (await call('GET', handset)).body.msgapp.at(-1).read === true,
        write: ({ group, ...message }) =>
          act('msgapp', { ...message, ...(group === undefined ? { to: ours } : { group_uuid: group }) }),
        read: () => act('read', { from: ours }),
        call: () => act('msgapp-calls', { to: ours }),
        name: `Handset ${number.slice(-4)}`,
        picture,
        status,
        leave: (group_uuid) => act('leave-group', { group_uuid }),
      }
    },
    freeze: () => process.kill(carrier, 'SIGSTOP'),
    thaw: () => process.kill(carrier, 'SIGCONT'),
    end: async () => void (await platform.end()),
  }
})
