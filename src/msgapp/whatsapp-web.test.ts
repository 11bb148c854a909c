import { startPlatform } from '../../test/platform.ts'
import { homeWith, installed } from '../../test/whatsapp-web/installed.ts'
import { linkChannel, startWebNetwork } from '../../test/whatsapp-web/network.ts'
import { chatSuite, type Seen } from './msgapp.conformance.ts'

// The library as it is, against a network of ours: what only WhatsApp's own could show is said in docs/whatsapp-web.md.

const { folder, skip } = installed()
const ours = '+447700900341'

/** One grey point. */
const portrait = Buffer.from(
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/yQALCAABAAEBAREA/8wABgAQEAX/2gAIAQEAAD8A0s8g/9k=',
  'base64',
)

chatSuite(
  'WhatsApp Web',
  async () => {
    const network = await startWebNetwork(folder)
    const platform = await startPlatform(homeWith(folder), network.env)
    const uuid = await linkChannel(platform, network, ours)
    const { control } = network
    /** The network's id of a group. */
    const groupOf = async (group: string) =>
      (await platform.call('GET', `/open/msgapp/group/${group}`)).body.group.wa_group_id
    let people = 0
    return {
      call: platform.call,
      channel: { uuid, number: ours },
      nobody: '+447400120006',
      portrait: { body: portrait, type: 'image/jpeg' },
      somebody: async () => {
        const number = `+447400${160_000 + ++people * 10 + 8}`
        const act = (what: string, more: object = {}) => control(what, { number, to: ours, ...more })
        await act('people')
        let wrote = ''
        return {
          number,
          seen: async (): Promise<Seen[]> => (await act('seen')).received,
          write: async ({ group, ...message }) => {
            const where = group === undefined ? {} : { group: await groupOf(group) }
            wrote = (await act('write', { ...message, ...where })).id
          },
          wasRead: async () => (await act('seen')).wereRead.includes(wrote),
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
