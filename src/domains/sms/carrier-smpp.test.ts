import { after } from 'node:test'
import { until } from '../../../test/platform.ts'
import { type CarrierAnswer, carrierSuite, makeShareDeps } from './carrier.conformance.ts'
import { driverOf } from './drivers.ts'
import { type Submit, type SubmitReaction, startSmsc } from './sms-testing.ts'

const reactions: Record<CarrierAnswer, SubmitReaction> = { accept: 'take', busy: 0x58, refuse: 0x0b, cut: 'cut' }

await carrierSuite('SMPP', async (world) => {
  const smsc = await startSmsc()
  after(smsc.close)
  const answers: CarrierAnswer[] = []
  smsc.react = () => reactions[answers.shift() ?? 'accept']
  const received = () =>
    smsc.submits.map(({ id, source, text, concat }: Submit) => ({ id, source, text, part: concat?.part ?? 1 }))
  return {
    capabilities: driverOf('smpp').capabilitiesOf({}),
    connectShare: (share, pace) => {
      const settings = { host: '127.0.0.1', port: smsc.port, system_id: 'me', password: 'secret' }
      return driverOf('smpp').connect({ ...settings, tps: pace, binds: share.of }, makeShareDeps(share))
    },
    get received() {
      return received()
    },
    answers,
    codes: { busy: 'ESME_RTHROTTLED', refuse: 'ESME_RINVDSTADR' },
    connect: async (pace) =>
      (await world.connect('conformance', smsc, pace === null ? {} : { tps: pace })).replace('CNX', ''),
    disconnect: async (connection) => {
      await world.call('operator', 'DELETE', `/operator/connections/CNX${connection}`)
      await until(async () => world.parts.carriers.state(connection) === null)
    },
    report: async (id, state) => {
      const { source = '' } = smsc.submits.findLast((one) => one.id === id) ?? {}
      smsc.receipt(id, state === 'delivered' ? 'DELIVRD' : 'UNDELIV', undefined, source)
    },
    write: smsc.sendInbound,
  }
})
