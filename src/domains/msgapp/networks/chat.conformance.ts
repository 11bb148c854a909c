import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { startWebhookReceiver, type WebhookReceiver } from '../../../../test/hooks.ts'
import { type Answer, until } from '../../../../test/platform.ts'
import type { ChatCapabilities, ChatCapability, ChatSupport } from '../../../ports/chat.ts'

// Conformance suite of chat networks, through the public API only: the platform on one side, and a counterpart that
// shares no code with it on the other.

/** A message as a person on the network saw it. */
export type SeenMessage = {
  readonly text: string
  readonly digest?: string | undefined
  readonly pin?: { readonly latitude: number; readonly longitude: number } | undefined
  readonly removed?: boolean | undefined
}

/** A person on the network, outside the platform. */
export type NetworkPerson = {
  /** E.164. */
  readonly number: string
  seen(): Promise<readonly SeenMessage[]>
  write(message: { text?: string; url?: string; group?: string }): Promise<void>
  /** Whether they got a read receipt for their last message. */
  gotReadReceipt(): Promise<boolean>
  /** Opens the messages from the channel. */
  read(): Promise<void>
  call?(): Promise<void>
  /** Name that they show, if any. */
  readonly name?: string
  /** SHA-256 of the channel's picture, and its status, as they see them. */
  picture?(): Promise<string | null>
  status?(): Promise<string | null>
  leave?(group: string): Promise<void>
}

export type Network = {
  call(method: string, path: string, body?: unknown): Promise<Answer>
  /** The connected channel. */
  readonly channel: { readonly uuid: string; readonly number: string }
  /** A new person. */
  newPerson(): Promise<NetworkPerson>
  /** A number that is not on the network. */
  readonly unknownNumber: string
  /** A picture for networks that do not accept PNG. */
  readonly portrait?: { readonly body: Buffer; readonly type: string }
  /** Stops the network's process without closing a socket; `thaw` resumes it. */
  freeze(): void
  thaw(): void
  end(): Promise<void>
}

type Message = { wa_msg_ack: number; read_at?: string; message: { text?: string; media?: { url?: string } } }

/** Only WhatsApp has templates (whatsapp-cloud*.test.ts). */
const testedElsewhere = new Set(['templates'])

/** Cases by required ability. A network without the ability skips them, as its table says. */
/** A participant who was added, or only invited where the network does not allow adding them. */
const joinedOrInvited = ({ statusCode, isInviteV4Sent }: { statusCode: number; isInviteV4Sent: boolean }) =>
  assert.equal(statusCode, isInviteV4Sent ? 403 : 200)

export const chatSuite = (
  name: string,
  start: () => Promise<Network>,
  options: { readonly skip: false | string } = { skip: false },
): void => {
  const tried = new Set<ChatCapability>()
  const skipped = new Set<ChatCapability>()

  describe(`${name} passes the chat network conformance suite`, { timeout: 240_000, ...options }, () => {
    let network: Network
    let hooks: WebhookReceiver
    let abilities: ChatCapabilities
    before(async () => {
      network = await start()
      abilities = (await must('GET', `/open/msgapp/channel/${network.channel.uuid}`)).abilities
      hooks = await startWebhookReceiver()
    })
    after(async () => {
      network.thaw()
      await hooks.end()
      await network.end()
    })

    const needing = (ability: ChatCapability, promise: string, work: () => Promise<void>) =>
      test(promise, async (t) => {
        if (abilities[ability] === 'no') {
          skipped.add(ability)
          return t.skip(`${name} cannot: ${ability}`)
        }
        tried.add(ability)
        await work()
      })

    const must = async (method: string, path: string, body?: unknown) => {
      const answer = await network.call(method, path, body)
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body
    }

    /** Collects the webhooks of an event on the channel from now on. */
    const hear = async (event: string) => {
      const { url, bodies } = hooks.open()
      await must('POST', `/open/webhooks/subscribe/${event}`, { hook_url: url, channel_uuid: network.channel.uuid })
      return bodies
    }

    const send = async (message: object): Promise<string> =>
      (await must('POST', '/open/msgapp/send-message', { from_number: network.channel.number, ...message }))
        .message_uuid

    const messageOf = async ({ number }: NetworkPerson, uuid: string): Promise<Message> =>
      (await must('GET', `/open/msgapp/message/WW-${network.channel.uuid}-${number.slice(1)}@c.us/${uuid}`)).message

    const acked = (to: NetworkPerson, uuid: string, level: number) =>
      until(async () => (await messageOf(to, uuid)).wa_msg_ack >= level && (await messageOf(to, uuid)))

    const thread = async ({ number }: NetworkPerson): Promise<Message[]> =>
      (await must('GET', `/open/msgapp/messages/${network.channel.number}/${number}`)).messages

    const stands = (status: string, seconds: number) =>
      until(async () => {
        const stand = await must('GET', `/open/msgapp/channel/${network.channel.uuid}/status`)
        return stand.connection_status === status && stand
      }, seconds)

    needing('send', 'a text reaches its recipient once', async () => {
      const ada = await network.newPerson()
      await acked(ada, await send({ to_number: ada.number, text: 'Hello, Ada' }), 1)
      await until(async () => (await ada.seen()).length > 0)
      assert.deepEqual(
        (await ada.seen()).map(({ text }) => text),
        ['Hello, Ada'],
      )
    })

    needing('receipts', 'a received message is acknowledged', async () => {
      const ada = await network.newPerson()
      await acked(ada, await send({ to_number: ada.number, text: 'Did it come?' }), 2)
    })

    needing('read_receipts', 'a read message is acknowledged with its time', async () => {
      const ada = await network.newPerson()
      const uuid = await send({ to_number: ada.number, text: 'Did you read it?' })
      await until(async () => (await ada.seen()).length > 0)
      await ada.read()
      assert.match((await acked(ada, uuid, 3)).read_at ?? '', /Z$/)
    })

    needing('send', 'an inbound message is published, and is in the thread, once', async () => {
      const ada = await network.newPerson()
      const event = await hear('msgapp.message.received')
      await ada.write({ text: 'Hello, you' })
      const hers = await until(async () => event.find((body) => body.remote_phone_number === ada.number))
      assert.deepEqual([hers.message.text, hers.sent_by, hers.is_from_chatter], ['Hello, you', 'user', true])
      assert.deepEqual(
        (await thread(ada)).map(({ message }) => message.text),
        ['Hello, you'],
      )
    })

    needing('mark_read', 'the sender gets a read receipt once the message is marked read, and not before', async () => {
      const ada = await network.newPerson()
      await ada.write({ text: 'Did you see this?' })
      await until(async () => (await thread(ada)).length > 0)
      assert.equal(await ada.gotReadReceipt(), false)
      const session = `WW-${network.channel.uuid}-${ada.number.slice(1)}@c.us`
      const { unread_count, batched } = await must('POST', `/open/msgapp/conversation/${session}/read`)
      assert.deepEqual([unread_count, batched], [0, true])
      await until(() => ada.gotReadReceipt())
      assert.equal((await thread(ada))[0]?.wa_msg_ack, 3)
    })

    const picture = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
      'base64',
    )
    const digest = createHash('sha256').update(picture).digest('hex')

    needing('media', 'files are transferred both ways, byte for byte', async () => {
      const ada = await network.newPerson()
      const url = hooks.file(picture, 'image/png', 'dot.png')
      await acked(ada, await send({ to_number: ada.number, url, text: 'A dot' }), 1)
      await until(async () => (await ada.seen()).some((seen) => seen.digest === digest))
      await ada.write({ url })
      const link = await until(
        async () => (await thread(ada)).find(({ message }) => message.media?.url && !message.text)?.message.media?.url,
      )
      const body = await until(async () => {
        const answer = await fetch(link)
        return answer.ok && Buffer.from(await answer.arrayBuffer())
      })
      assert.equal(createHash('sha256').update(body).digest('hex'), digest)
    })

    needing('location', 'a location reaches its recipient', async () => {
      const ada = await network.newPerson()
      await send({ to_number: ada.number, text: '', pin: { latitude: 51.5, longitude: -0.125 } })
      const seen = await until(async () => (await ada.seen()).find(({ pin, text }) => pin || text.includes('51.5')))
      if (seen.pin) assert.deepEqual([seen.pin.latitude, seen.pin.longitude], [51.5, -0.125])
    })

    needing('check', 'a check distinguishes numbers on the network from others', async () => {
      const ada = await network.newPerson()
      const check = async (number: string) =>
        (await must('GET', `/open/msgapp/check-number/${network.channel.number}/${number}`)).on_msgapp
      assert.equal(await check(ada.number), true)
      assert.equal(await check(network.unknownNumber), false)
    })

    needing('check_extra', 'a check returns profile information when requested', async () => {
      const ada = await network.newPerson()
      const { msgapp_info: info } = await must(
        'GET',
        `/open/msgapp/check-number/${network.channel.number}/${ada.number}?extra-information=true`,
      )
      assert.equal(info.pushname, ada.name)
    })

    const done = (event: string) =>
      until(async () => {
        const { events } = await must('GET', `/open/msgapp/channel/${network.channel.uuid}/status`)
        return events.some((one: { event: string }) => one.event === event)
      })

    needing('picture', 'others see the channel’s picture', async () => {
      const ada = await network.newPerson()
      const portrait = network.portrait ?? { body: picture, type: 'image/png' }
      const seen = createHash('sha256').update(portrait.body).digest('hex')
      const url = hooks.file(portrait.body, portrait.type, 'us')
      await must('POST', `/open/msgapp/set-profile-picture/${network.channel.number}`, { url })
      await done('picture-set')
      await until(async () => (await ada.picture?.()) === seen)
    })

    needing('status', 'others see the channel’s status', async () => {
      const ada = await network.newPerson()
      await must('POST', `/open/msgapp/set-status/${network.channel.number}`, { status: 'Open until six' })
      await done('status-set')
      await until(async () => (await ada.status?.()) === 'Open until six')
    })

    needing('contacts', 'a contact of the channel is added to its address book', async () => {
      const ada = await network.newPerson()
      const { contact } = await must('POST', '/open/contacts', {
        first_name: 'Ada',
        contact_details: [{ type: 'PH', value: ada.number }],
        channel_uuid: network.channel.uuid,
      })
      await until(async () => (await must('GET', `/open/contacts/${contact.uuid}`)).contact.sync.state === 'synced')
    })

    needing('history', 'messages written while the channel was disconnected arrive afterwards, once', async () => {
      const ada = await network.newPerson()
      const channel = `/open/msgapp/channel/${network.channel.uuid}`
      await must('POST', `${channel}/disconnect`)
      await ada.write({ text: 'While you were away' })
      await must('POST', `${channel}/connect`)
      await stands('C', 30)
      await until(async () => (await thread(ada)).length > 0)
      assert.deepEqual(
        (await thread(ada)).map(({ message }) => message.text),
        ['While you were away'],
      )
    })

    needing(
      'groups',
      'a group is created with a code for each number, and messages pass in both directions',
      async () => {
        const ada = await network.newPerson()
        const participants = [ada.number, network.unknownNumber]
        const { group } = await must('POST', '/open/msgapp/group/create', {
          from_number: network.channel.number,
          group: { name: 'Book club', participants },
        })
        assert.match(group.wa_group_id, /@/)
        assert.equal(group.participants[network.unknownNumber].statusCode, 404)
        joinedOrInvited(group.participants[ada.number])
        assert.equal(group.participants[network.channel.number].isGroupCreator, true)
        const event = await hear('msgapp.group.message.received')
        await send({ to_group_uuid: group.uuid, text: 'To all' })
        await until(async () => (await ada.seen()).some(({ text }) => text === 'To all'))
        await ada.write({ text: 'From her', group: group.uuid })
        await until(async () => event.find((body) => body.message.text === 'From her'))
      },
    )

    needing('group_changes', 'members are added and removed, each with one event', async () => {
      const [ada, bob] = [await network.newPerson(), await network.newPerson()]
      const [joined, removed] = [await hear('msgapp.group.join'), await hear('msgapp.group.remove')]
      const { group } = await must('POST', '/open/msgapp/group/create', {
        from_number: network.channel.number,
        group: { name: 'Chess', participants: [ada.number] },
      })
      const changed = async (what: string, number: string) =>
        (await must('POST', `/open/msgapp/group/${group.uuid}/${what}-participant`, { participants: [number] }))
          .participants[number]
      const change = async (what: string, number: string) => (await changed(what, number)).statusCode
      const added = await changed('add', bob.number)
      joinedOrInvited(added)
      const eventsWith = (bodies: typeof joined) =>
        bodies.filter((body) => body.group_uuid === group.uuid && body.participants.includes(bob.number))
      // An invited number (403) is not a member.
      const events = added.statusCode === 200 ? 1 : 0
      await until(async () => eventsWith(joined).length >= events)
      assert.equal(await change('promote', ada.number), 200)
      assert.equal(await change('demote', ada.number), 200)
      assert.equal(await change('remove', bob.number), 200)
      await until(async () => eventsWith(removed).length >= events)
      await must('POST', `/open/msgapp/group/${group.uuid}/set-description`, { description: 'On Mondays' })
      if (!ada.leave) return
      const event = await hear('msgapp.group.leave')
      await ada.leave(group.uuid)
      await until(async () => event.find((body) => body.group_uuid === group.uuid))
      assert.deepEqual([eventsWith(joined).length, eventsWith(removed).length], [events, events])
    })

    needing('remove', 'a message is deleted for its recipient', async () => {
      const ada = await network.newPerson()
      const uuid = await send({ to_number: ada.number, text: 'Forget this' })
      await until(async () => (await ada.seen()).length > 0)
      await acked(ada, uuid, 1)
      await must('DELETE', `/open/msgapp/message/WW-${network.channel.uuid}-${ada.number.slice(1)}@c.us/${uuid}`)
      await until(async () => (await ada.seen()).every(({ removed }) => removed))
    })

    needing('calls', 'a call is published once', async () => {
      const ada = await network.newPerson()
      if (!ada.call) assert.fail(`${name} declares that it has calls`)
      const event = await hear('msgapp.call.received')
      await ada.call()
      await until(async () => event.find((body) => body.remote_phone_number === ada.number))
      assert.equal(event.filter((body) => body.remote_phone_number === ada.number).length, 1)
    })

    test('a silent network disconnects the channel within 15 s and makes checks unknown; both recover by themselves', async () => {
      const [ada, bob] = [await network.newPerson(), await network.newPerson()]
      network.freeze()
      const frozen = performance.now()
      await stands('D', 20)
      assert.ok(performance.now() - frozen < 15_000, `it took ${performance.now() - frozen} ms`)
      const checked = await network.call('GET', `/open/msgapp/check-number/${network.channel.number}/${bob.number}`)
      assert.notEqual(checked.body.on_msgapp, false)
      const uuid = await send({ to_number: ada.number, text: 'Sent meanwhile' })
      network.thaw()
      await stands('C', 30)
      await acked(ada, uuid, 1)
      await until(async () => (await ada.seen()).length > 0)
      assert.equal((await ada.seen()).length, 1)
    })

    test('the skipped cases are those that the table of abilities names', () => {
      const abilitiesThat = (can: (said: ChatSupport) => boolean) =>
        Object.entries(abilities).flatMap(([ability, said]) =>
          can(said) && !testedElsewhere.has(ability) ? ability : [],
        )
      assert.deepEqual([...skipped].sort(), abilitiesThat((said) => said === 'no').sort())
      assert.deepEqual([...tried].sort(), abilitiesThat((said) => said !== 'no').sort())
    })
  })
}
