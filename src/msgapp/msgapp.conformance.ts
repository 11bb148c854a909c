import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Receiver, startHooks } from '../../test/hooks.ts'
import { type Answer, until } from '../../test/platform.ts'
import type { ChatAbilities, ChatAbility, ChatCan } from '../connectors/chat-port.ts'

// What every chat network does, seen through the public interface alone: the platform on one side, somebody who shares no
// code with it on the other.

/** What somebody on the network saw. */
export type Seen = {
  readonly text: string
  readonly digest?: string | undefined
  readonly pin?: { readonly latitude: number; readonly longitude: number } | undefined
  readonly removed?: boolean | undefined
}

/** Somebody on the network, elsewhere. */
export type Somebody = {
  /** E.164. */
  readonly number: string
  seen(): Promise<readonly Seen[]>
  write(message: { text?: string; url?: string; group?: string }): Promise<void>
  /** Whether they were told that what they wrote last was read. */
  wasRead(): Promise<boolean>
  /** Opens what came from the channel. */
  read(): Promise<void>
  call?(): Promise<void>
  /** What they call themselves, where they show it. */
  readonly name?: string
  /** The SHA-256 of the channel's picture, and its status, as they see them. */
  picture?(): Promise<string | null>
  status?(): Promise<string | null>
  leave?(group: string): Promise<void>
}

export type Network = {
  call(method: string, path: string, body?: unknown): Promise<Answer>
  /** The connected channel. */
  readonly channel: { readonly uuid: string; readonly number: string }
  /** Somebody new. */
  somebody(): Promise<Somebody>
  /** A number that is not on the network. */
  readonly nobody: string
  /** A picture that the network takes, where it does not take PNG. */
  readonly portrait?: { readonly body: Buffer; readonly type: string }
  /** Stops the network's process without closing a socket; and lets it go on. */
  freeze(): void
  thaw(): void
  end(): Promise<void>
}

type Message = { wa_msg_ack: number; read_at?: string; message: { text?: string; media?: { url?: string } } }

/** Templates are WhatsApp's alone (whatsapp-cloud*.test.ts). */
const elsewhere = new Set(['templates'])

/** The cases by what they take; a network that cannot do it skips them, and says so in its table. */
export const chatSuite = (
  name: string,
  start: () => Promise<Network>,
  options: { readonly skip: false | string } = { skip: false },
): void => {
  const tried = new Set<ChatAbility>()
  const skipped = new Set<ChatAbility>()

  describe(`${name} as every chat network`, { timeout: 240_000, ...options }, () => {
    let network: Network
    let hooks: Receiver
    let abilities: ChatAbilities
    before(async () => {
      network = await start()
      abilities = (await must('GET', `/open/msgapp/channel/${network.channel.uuid}`)).abilities
      hooks = await startHooks()
    })
    after(async () => {
      network.thaw()
      await hooks.end()
      await network.end()
    })

    const needing = (ability: ChatAbility, promise: string, work: () => Promise<void>) =>
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

    /** What subscribers hear of an event on the channel from now on. */
    const hear = async (event: string) => {
      const { url, bodies } = hooks.open()
      await must('POST', `/open/webhooks/subscribe/${event}`, { hook_url: url, channel_uuid: network.channel.uuid })
      return bodies
    }

    const send = async (message: object): Promise<string> =>
      (await must('POST', '/open/msgapp/send-message', { from_number: network.channel.number, ...message }))
        .message_uuid

    const messageOf = async ({ number }: Somebody, uuid: string): Promise<Message> =>
      (await must('GET', `/open/msgapp/message/WW-${network.channel.uuid}-${number.slice(1)}@c.us/${uuid}`)).message

    const acked = (to: Somebody, uuid: string, level: number) =>
      until(async () => (await messageOf(to, uuid)).wa_msg_ack >= level && (await messageOf(to, uuid)))

    const thread = async ({ number }: Somebody): Promise<Message[]> =>
      (await must('GET', `/open/msgapp/messages/${network.channel.number}/${number}`)).messages

    const stands = (status: string, seconds: number) =>
      until(async () => {
        const stand = await must('GET', `/open/msgapp/channel/${network.channel.uuid}/status`)
        return stand.connection_status === status && stand
      }, seconds)

    needing('send', 'a text reaches somebody once', async () => {
      const ada = await network.somebody()
      await acked(ada, await send({ to_number: ada.number, text: 'Hello, Ada' }), 1)
      await until(async () => (await ada.seen()).length > 0)
      assert.deepEqual(
        (await ada.seen()).map(({ text }) => text),
        ['Hello, Ada'],
      )
    })

    needing('receipts', 'a message is acknowledged when it was received', async () => {
      const ada = await network.somebody()
      await acked(ada, await send({ to_number: ada.number, text: 'Did it come?' }), 2)
    })

    needing('read_receipts', 'a message is acknowledged when it was read, with the time of it', async () => {
      const ada = await network.somebody()
      const uuid = await send({ to_number: ada.number, text: 'Did you read it?' })
      await until(async () => (await ada.seen()).length > 0)
      await ada.read()
      assert.match((await acked(ada, uuid, 3)).read_at ?? '', /Z$/)
    })

    needing('send', 'what somebody writes is told, and stands in the thread, once', async () => {
      const ada = await network.somebody()
      const told = await hear('msgapp.message.received')
      await ada.write({ text: 'Hello, you' })
      const hers = await until(async () => told.find((body) => body.remote_phone_number === ada.number))
      assert.deepEqual([hers.message.text, hers.sent_by, hers.is_from_chatter], ['Hello, you', 'user', true])
      assert.deepEqual(
        (await thread(ada)).map(({ message }) => message.text),
        ['Hello, you'],
      )
    })

    needing('mark_read', 'who wrote sees that it was read once it is marked so, and not before', async () => {
      const ada = await network.somebody()
      await ada.write({ text: 'Did you see this?' })
      await until(async () => (await thread(ada)).length > 0)
      assert.equal(await ada.wasRead(), false)
      const session = `WW-${network.channel.uuid}-${ada.number.slice(1)}@c.us`
      const { unread_count, batched } = await must('POST', `/open/msgapp/conversation/${session}/read`)
      assert.deepEqual([unread_count, batched], [0, true])
      await until(() => ada.wasRead())
      assert.equal((await thread(ada))[0]?.wa_msg_ack, 3)
    })

    const picture = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
      'base64',
    )
    const digest = createHash('sha256').update(picture).digest('hex')

    needing('media', 'files go both ways, byte for byte', async () => {
      const ada = await network.somebody()
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

    needing('location', 'a place reaches somebody', async () => {
      const ada = await network.somebody()
      await send({ to_number: ada.number, text: '', pin: { latitude: 51.5, longitude: -0.125 } })
      const seen = await until(async () => (await ada.seen()).find(({ pin, text }) => pin || text.includes('51.5')))
      if (seen.pin) assert.deepEqual([seen.pin.latitude, seen.pin.longitude], [51.5, -0.125])
    })

    needing('check', 'a check tells who is on the network from who is not', async () => {
      const ada = await network.somebody()
      const check = async (number: string) =>
        (await must('GET', `/open/msgapp/check-number/${network.channel.number}/${number}`)).on_msgapp
      assert.equal(await check(ada.number), true)
      assert.equal(await check(network.nobody), false)
    })

    needing('check_extra', 'a check tells what somebody shows of themselves, where that is asked for', async () => {
      const ada = await network.somebody()
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

    needing('picture', 'the picture of the channel is what others see', async () => {
      const ada = await network.somebody()
      const portrait = network.portrait ?? { body: picture, type: 'image/png' }
      const seen = createHash('sha256').update(portrait.body).digest('hex')
      const url = hooks.file(portrait.body, portrait.type, 'us')
      await must('POST', `/open/msgapp/set-profile-picture/${network.channel.number}`, { url })
      await done('picture-set')
      await until(async () => (await ada.picture?.()) === seen)
    })

    needing('status', 'so is its status', async () => {
      const ada = await network.somebody()
      await must('POST', `/open/msgapp/set-status/${network.channel.number}`, { status: 'Open until six' })
      await done('status-set')
      await until(async () => (await ada.status?.()) === 'Open until six')
    })

    needing('contacts', 'a contact of the channel comes into its address book', async () => {
      const ada = await network.somebody()
      const { contact } = await must('POST', '/open/contacts', {
        first_name: 'Ada',
        contact_details: [{ type: 'PH', value: ada.number }],
        channel_uuid: network.channel.uuid,
      })
      await until(async () => (await must('GET', `/open/contacts/${contact.uuid}`)).contact.sync.state === 'synced')
    })

    needing('history', 'what was written while the channel was disconnected comes after it, once', async () => {
      const ada = await network.somebody()
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

    needing('groups', 'a group is made, with a code for each number, and written in both ways', async () => {
      const ada = await network.somebody()
      const participants = [ada.number, network.nobody]
      const { group } = await must('POST', '/open/msgapp/group/create', {
        from_number: network.channel.number,
        group: { name: 'Book club', participants },
      })
      assert.match(group.wa_group_id, /@/)
      assert.equal(group.participants[network.nobody].statusCode, 404)
      assert.ok([200, 403].includes(group.participants[ada.number].statusCode))
      assert.equal(group.participants[network.channel.number].isGroupCreator, true)
      const told = await hear('msgapp.group.message.received')
      await send({ to_group_uuid: group.uuid, text: 'To all' })
      await until(async () => (await ada.seen()).some(({ text }) => text === 'To all'))
      await ada.write({ text: 'From her', group: group.uuid })
      await until(async () => told.find((body) => body.message.text === 'From her'))
    })

    needing('group_changes', 'members come and go, and who leaves is told of', async () => {
      const [ada, bob] = [await network.somebody(), await network.somebody()]
      const { group } = await must('POST', '/open/msgapp/group/create', {
        from_number: network.channel.number,
        group: { name: 'Chess', participants: [ada.number] },
      })
      const change = async (what: string, number: string) =>
        (await must('POST', `/open/msgapp/group/${group.uuid}/${what}-participant`, { participants: [number] }))
          .participants[number].statusCode
      assert.ok([200, 403].includes(await change('add', bob.number)))
      assert.equal(await change('promote', ada.number), 200)
      assert.equal(await change('demote', ada.number), 200)
      assert.equal(await change('remove', bob.number), 200)
      await must('POST', `/open/msgapp/group/${group.uuid}/set-description`, { description: 'On Mondays' })
      if (!ada.leave) return
      const told = await hear('msgapp.group.leave')
      await ada.leave(group.uuid)
      await until(async () => told.find((body) => body.group_uuid === group.uuid))
    })

    needing('remove', 'a message is taken back from who got it', async () => {
      const ada = await network.somebody()
      const uuid = await send({ to_number: ada.number, text: 'Forget this' })
      await until(async () => (await ada.seen()).length > 0)
      await acked(ada, uuid, 1)
      await must('DELETE', `/open/msgapp/message/WW-${network.channel.uuid}-${ada.number.slice(1)}@c.us/${uuid}`)
      await until(async () => (await ada.seen()).every(({ removed }) => removed))
    })

    needing('calls', 'a call is told of, once', async () => {
      const ada = await network.somebody()
      if (!ada.call) assert.fail(`${name} says that it has calls`)
      const told = await hear('msgapp.call.received')
      await ada.call()
      await until(async () => told.find((body) => body.remote_phone_number === ada.number))
      assert.equal(told.filter((body) => body.remote_phone_number === ada.number).length, 1)
    })

    test('a network that falls silent turns the channel within 15 s and checks unknown; all of it comes back by itself', async () => {
      const [ada, bob] = [await network.somebody(), await network.somebody()]
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

    test('what was skipped is what the table of abilities says', () => {
      const abilitiesThat = (can: (said: ChatCan) => boolean) =>
        Object.entries(abilities).flatMap(([ability, said]) => (can(said) && !elsewhere.has(ability) ? ability : []))
      assert.deepEqual([...skipped].sort(), abilitiesThat((said) => said === 'no').sort())
      assert.deepEqual([...tried].sort(), abilitiesThat((said) => said !== 'no').sort())
    })
  })
}
