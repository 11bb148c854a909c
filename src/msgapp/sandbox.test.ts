import { readdirSync, readFileSync } from 'node:fs'
import { startPlatform } from '../../test/platform.ts'
import { chatSuite, type Seen } from './msgapp.conformance.ts'

/** The sandbox carriers are a child of the platform. */
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
  const { numbers } = (await call('GET', '/open/msgapp/get-numbers')).body
  const [{ uuid, phone_number: ours }] = numbers
  const carrier = carrierOf(platform.pid)
  let people = 0
  return {
    call,
    channel: { uuid, number: ours },
    nobody: '+447400120006',
    somebody: async () => {
      const number = `+447400${130_000 + ++people * 10 + 8}`
      const handset = `/sandbox/handsets/${number}`
      const act = async (what: string, body: object) => {
        const answer = await call('POST', `${handset}/${what}`, body)
        if (answer.status !== 202) throw new Error(`${what}: ${JSON.stringify(answer.body)}`)
      }
      return {
        number,
        seen: async (): Promise<Seen[]> =>
          (await call('GET', handset)).body.msgapp.filter((one: { direction: string }) => one.direction === 'inbound'),
        write: ({ group, ...message }) =>
          act('msgapp', { ...message, ...(group === undefined ? { to: ours } : { group_uuid: group }) }),
        read: () => act('read', { from: ours }),
        call: () => act('msgapp-calls', { to: ours }),
        leave: (group_uuid) => act('leave-group', { group_uuid }),
      }
    },
    freeze: () => process.kill(carrier, 'SIGSTOP'),
    thaw: () => process.kill(carrier, 'SIGCONT'),
    end: async () => void (await platform.end()),
  }
})
