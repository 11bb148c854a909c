import { startedHome, startPlatform } from '../../../../test/platform.ts'
import { homeWith, installed } from '../../../../test/whatsapp-web/installed.ts'
import { linkChannel, startWebNetwork } from '../../../../test/whatsapp-web/network.ts'
import { chatSuite, type SeenMessage } from './chat.conformance.ts'

// The unmodified library, against a network of ours: docs/whatsapp-web.md names what only WhatsApp's own network
// could show.

const { folder, skip } = installed()
const ours = '+447700900341'

/** A single grey pixel. */
const portrait = Buffer.from(
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/yQALCAABAAEBAREA/8wABgAQEAX/2gAIAQEAAD8A0s8g/9k=',
  'base64',
)

chatSuite(
  'WhatsApp Web',
  async () => {
    const network = await startWebNetwork(folder)
    const platform = await startPlatform(homeWith(folder, startedHome()), network.env)
    const uuid = await linkChannel(platform, network, ours)
    const { control } = network
    /** Network id of a group. */
    const groupOf = async (group: string) =>
      (await platform.call('GET', `/open/msgapp/group/${group}`)).body.group.wa_group_id
    let people = 0
    return {
      call: platform.call,
      channel: { uuid, number: ours },
      unknownNumber: '+447400120006',
      portrait: { body: portrait, type: 'image/jpeg' },
      newPerson: async () => {
        const number = `+447400${160_000 + ++people * 10 + 8}`
        const act = (what: string, more: object = {}) => control(what, { number, to: ours, ...more })
        await act('people')
        let wrote = ''
        return {
          number,
          seen: async (): Promise<SeenMessage[]> => (await act('seen')).received,
          write: async ({ group, ...message }) => {
            const where = group === undefined ? {} : { group: await groupOf(group) }
            wrote = (await act('write', { ...message, ...where })).id
          },
          gotReadReceipt: async () => (await act('seen')).wereRead.includes(wrote),
          read: () => act('read'),
          call: () => act('call'),
          picture: async () => (await control('seen', { number: ours })).picture,
          status: async () => (await control('seen', { number: ours })).status,
          leave: async (group) => act('leave', { group: await groupOf(group) }),
        }
      },
      freeze: network.freeze,
      thaw: network.thaw,
      end: async () => {
        await platform.end()
        await network.stop()
      },
    }
  },
  { skip },
)
