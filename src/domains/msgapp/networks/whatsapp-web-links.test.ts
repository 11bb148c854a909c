import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Platform, startedHome, startPlatform, until } from '../../../../test/platform.ts'
import { homeWith, installed } from '../../../../test/whatsapp-web/installed.ts'
import {
  connected,
  linkChannel,
  makeChannel,
  startWebNetwork,
  statusOf,
  type WebNetwork,
} from '../../../../test/whatsapp-web/network.ts'

// Linking of numbers as WhatsApp Web, beyond the conformance suite (whatsapp-web.test.ts).

const { folder, skip } = installed()

describe('numbers linked as WhatsApp Web', { skip, timeout: 240_000 }, () => {
  let network: WebNetwork
  let platform: Platform
  before(async () => {
    network = await startWebNetwork(folder)
    platform = await startPlatform(homeWith(folder, startedHome()), network.env)
  })
  after(async () => {
    await platform.end()
    await network.stop()
  })

  let numbers = 0
  const newNumber = () => `+447700901${String(100 + ++numbers)}`
  /** A person on the network. */
  const newPerson = async (last = 8) => {
    const number = `+447400${170_000 + ++numbers * 10 + last}`
    await network.control('people', { number })
    return number
  }
  const seen = async (number: string): Promise<{ text: string }[]> =>
    (await network.control('seen', { number })).received
  const must = async (method: string, path: string, body?: object) => {
    const answer = await platform.call(method, path, body)
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const send = async (from: string, to: string, text: string): Promise<string> =>
    (await must('POST', '/open/msgapp/send-message', { from_number: from, to_number: to, text })).message_uuid
  const thread = async (ours: string, theirs: string) =>
    (await must('GET', `/open/msgapp/messages/${ours}/${theirs}`)).messages
  const comes = (channel: string, phase: string) =>
    until(async () => {
      const status = await statusOf(platform, channel)
      return status.phase === phase && status
    }, 60)

  test('a number is linked by a code typed into its phone', async () => {
    const number = newNumber()
    const channel = await makeChannel(platform, network, number, { linking: 'code' })
    const { pairing_code: code, expires_at } = await until(async () => {
      const status = await statusOf(platform, channel)
      return status.pairing_code && status
    }, 60)
    assert.match(code, /^[1-9A-HJ-NP-TV-Z]{8}$/)
    assert.ok(Date.parse(expires_at) > Date.now())
    const isVerified = async () =>
      (await must('GET', '/open/voip/caller-ids')).caller_ids.find(
        ({ channel_uuid }: { channel_uuid?: string }) => channel_uuid === channel,
      ).verified
    assert.equal(await isVerified(), false)
    await network.control('code', { number, code })
    await connected(platform, channel)
    assert.equal(await isVerified(), true, 'a paired phone proves possession of its number')
    const person = await newPerson()
    await send(number, person, 'By code')
    await until(async () => (await seen(person)).some(({ text }) => text === 'By code'))
  })

  test('the phone of another number links nothing', async () => {
    const channel = await makeChannel(platform, network, newNumber())
    const other = await newPerson()
    const qr = await until(async () => (await statusOf(platform, channel)).qr_code, 60)
    await network.control('scan', { number: other, qr })
    assert.match((await comes(channel, 'failed')).reason, new RegExp(`linked with \\${other} instead`))
    // The device does not stay on that phone.
    await until(async () => (await network.control('devices', { number: other })).count === 0)
  })

  test('a number that the network formats differently is linked nevertheless', async () => {
    const channel = await makeChannel(platform, network, '+5511987654321')
    const other = '+551187654321'
    await network.control('people', { number: other })
    const qr = await until(async () => (await statusOf(platform, channel)).qr_code, 60)
    await network.control('scan', { number: other, qr })
    await connected(platform, channel)
  })

  test('a number unlinked by its phone is failed, and is linked again on request; it still knows its contacts', async () => {
    const number = newNumber()
    const channel = await linkChannel(platform, network, number)
    const [requested, other] = ['+5511987650009', '+551187650009']
    await network.control('people', { number: other })
    await send(number, requested, 'Before')
    await until(async () => (await seen(other)).length === 1)
    await network.control('unlink', { number })
    assert.match((await comes(channel, 'failed')).reason, /unlinked/)
    await must('POST', `/open/msgapp/channel/${channel}/connect`)
    const qr = await until(async () => (await statusOf(platform, channel)).qr_code, 60)
    await network.control('scan', { number, qr })
    await connected(platform, channel)
    await network.control('write', { number: other, to: number, text: 'An answer' })
    await until(async () => (await thread(number, requested)).length === 2)
    const person = await newPerson()
    await send(number, person, 'Linked anew')
    await until(async () => (await seen(person)).some(({ text }) => text === 'Linked anew'))
  })

  test('a banned number is failed; one whose link was replaced, or must reconnect, is only disconnected', async () => {
    const [banned, taken, again] = [newNumber(), newNumber(), newNumber()]
    const link = (number: string) => linkChannel(platform, network, number)
    const [ofBanned, ofTaken, ofAgain] = [await link(banned), await link(taken), await link(again)]
    await network.control('end', { number: banned, code: '403' })
    assert.match((await comes(ofBanned, 'failed')).reason, /banned/)
    await network.control('end', { number: taken, code: '440' })
    assert.match((await comes(ofTaken, 'disconnected')).reason, /another program uses this link/)
    await network.control('end', { number: again, code: '515' })
    await until(async () => {
      const { events } = await statusOf(platform, ofAgain)
      return events.filter(({ event }: { event: string }) => event === 'ready').length > 1
    }, 60)
  })

  test('digits of an identity are never presented as a number; the number is shown once the network reports it', async () => {
    const number = newNumber()
    const channel = await linkChannel(platform, network, number)
    const person = await newPerson()
    await network.control('write', { number: person, to: number, text: 'Who am I?', hidden: true })
    const sessions = async () => (await must('GET', `/open/msgapp/conversations/${channel}`)).sessions
    const [hidden] = await until(async () => (await sessions()).length > 0 && sessions())
    const { lid } = await network.control('seen', { number: person })
    assert.doesNotMatch(JSON.stringify(hidden), new RegExp(`\\+${lid}|"${lid}"`))
    await network.control('write', { number: person, to: number, text: 'It is me' })
    const both = await until(async () => {
      const found = await thread(number, person)
      return found.length === 2 && found
    })
    assert.deepEqual(
      both.map((one: { message: { text: string } }) => one.message.text),
      ['It is me', 'Who am I?'],
    )
  })

  test('a person whose network number differs from the one written to answers in the same thread', async () => {
    const number = newNumber()
    const channel = await linkChannel(platform, network, number)
    // The network's format, without the 9 after the area code.
    const [requested, person] = ['+5511987650001', '+551187650001']
    await network.control('people', { number: person })
    const write = (text: string, hidden = false) =>
      network.control('write', { number: person, to: number, text, hidden })
    const sessions = async () => (await must('GET', `/open/msgapp/conversations/${channel}`)).sessions
    const texts = async () =>
      (await thread(number, requested)).map((one: { message: { text: string } }) => one.message.text)
    const stands = async (expected: string[]) => {
      await until(async () => (await texts()).length >= expected.length)
      assert.deepEqual(await texts(), expected)
      assert.deepEqual(
        (await sessions()).map((one: { remote_phone_number: string }) => one.remote_phone_number),
        [requested],
      )
    }

    // The person wrote first, so they are known by their own number until a message goes to the other one.
    await write('Hello')
    await until(async () => (await thread(number, person)).length === 1)
    const uuid = await send(number, requested, 'Hello back')
    await until(async () => (await seen(person)).length === 1)
    await stands(['Hello back', 'Hello'])
    await network.control('read', { number: person, to: number })
    await until(
      async () =>
        (await thread(number, requested)).find((one: { uuid: string }) => one.uuid === uuid)?.wa_msg_ack === 3,
    )
    await write('Who is it?', true)
    await stands(['Who is it?', 'Hello back', 'Hello'])
    // Messages to either number are in one thread, under the number used first.
    await send(number, person, 'By the other')
    await until(async () => (await seen(person)).length === 2)
    await stands(['By the other', 'Who is it?', 'Hello back', 'Hello'])
    await send(number, requested, 'And back')
    await until(async () => (await seen(person)).length === 3)
    await stands(['And back', 'By the other', 'Who is it?', 'Hello back', 'Hello'])

    const [checked, other] = ['+5511987650003', '+551187650003']
    await network.control('people', { number: other })
    assert.equal((await must('GET', `/open/msgapp/check-number/${number}/${checked}`)).on_msgapp, true)
    await network.control('write', { number: other, to: number, text: 'Was I looked for?' })
    await until(async () => (await thread(number, checked)).length === 1)
  })

  test('contacts are added to the phone’s address book once it has shared its keys, whatever it changes itself', async () => {
    const number = newNumber()
    await network.control('withhold', { number })
    const channel_uuid = await linkChannel(platform, network, number)
    const [ada, bob, brazilian] = [await newPerson(), await newPerson(), '+551187650005']
    await network.control('people', { number: brazilian })
    const contact = async (first_name: string, value: string) => {
      const contact_details = [{ type: 'PH', value }]
      return (await must('POST', '/open/contacts', { first_name, last_name: 'King', contact_details, channel_uuid }))
        .contact.uuid
    }
    const state = async (uuid: string) => (await must('GET', `/open/contacts/${uuid}`)).contact.sync
    const synced = (uuid: string) => until(async () => (await state(uuid)).state === 'synced', 60)
    const book = () => network.control('contacts', { number })
    const at = (person: string) => `${person.slice(1)}@s.whatsapp.net`
    const named = (firstName: string) => ({ fullName: `${firstName} King`, firstName, saveOnPrimaryAddressbook: true })

    const uuid = await contact('Ada', ada)
    assert.deepEqual([(await state(uuid)).state, await book()], ['queued', {}])
    await network.control('share', { number })
    await synced(uuid)
    assert.deepEqual(await book(), { [at(ada)]: named('Ada') })

    // The phone adds a contact at the same time: its state is read first, and then the write is done.
    await network.control('rival', { number, to: bob })
    await synced(await contact('Grace', '+5511987650005'))
    await must('PUT', `/open/contacts/${uuid}`, { first_name: 'Augusta' })
    await until(async () => (await book())[at(ada)].firstName === 'Augusta', 60)
    assert.deepEqual(await book(), {
      [at(ada)]: named('Augusta'),
      [at(bob)]: { fullName: 'Of the phone' },
      [at(brazilian)]: named('Grace'),
    })
    // A temporary fault is retried; a permanent one is reported.
    await network.control('spoil', { number, code: '503' })
    const late = await contact('Late', await newPerson())
    await until(async () => (await network.control('spoiled', { number })).code === null)
    await synced(late)
    await network.control('spoil', { number, code: '406' })
    const never = await contact('Never', await newPerson())
    await until(async () => (await state(never)).state === 'failed', 60)
    assert.match((await state(never)).error, /406/)
    const unregistered = await contact('Nobody', '+447400120006')
    await until(async () => (await state(unregistered)).state === 'failed')
    assert.match((await state(unregistered)).error, /not on the network/)
  })

  test('a message that the network rejects has its code, and is not sent again', async () => {
    const number = newNumber()
    await linkChannel(platform, network, number)
    const [person, unregistered] = [await newPerson(3), '+447400120006']
    const failureOf = async (to: string, uuid: string) => {
      const one = (await thread(number, to)).find((message: { uuid: string }) => message.uuid === uuid)
      return one?.failure ?? null
    }
    const locked = await send(number, person, 'Locked')
    assert.equal((await until(() => failureOf(person, locked))).code, '463')
    assert.equal((await network.control('refused', { number: person })).count, 1)
    const absent = await send(number, unregistered, 'Nobody')
    assert.equal((await until(() => failureOf(unregistered, absent))).code, 'not_on_network')
  })

  test('a number that may not be added to a group is invited', async () => {
    const number = newNumber()
    await linkChannel(platform, network, number)
    const [open, shy] = [await newPerson(), await newPerson(7)]
    const { group } = await must('POST', '/open/msgapp/group/create', {
      from_number: number,
      group: { name: 'Choir', participants: [open, shy] },
    })
    assert.equal(group.participants[open].statusCode, 200)
    assert.deepEqual([group.participants[shy].statusCode, group.participants[shy].isInviteV4Sent], [403, true])
    await until(async () => (await network.control('invited', { number: shy })).groups.includes(group.wa_group_id))
  })

  test('messages read in a group send a read receipt to each author', async () => {
    const number = newNumber()
    await linkChannel(platform, network, number)
    const people = [await newPerson(), await newPerson()]
    const { group } = await must('POST', '/open/msgapp/group/create', {
      from_number: number,
      group: { name: 'Readers', participants: people },
    })
    const written = new Map<string, string>()
    for (const person of people) {
      const message = { number: person, to: number, group: group.wa_group_id, text: 'Read this' }
      written.set(person, (await network.control('write', message)).id)
    }
    const list = async () => (await must('GET', `/open/msgapp/groups/messages/${group.uuid}`)).messages
    await until(async () => (await list()).length === 2)
    const [{ session_key }] = await list()
    await must('POST', `/open/msgapp/conversation/${encodeURIComponent(session_key)}/read`)
    for (const [person, id] of written)
      await until(async () => (await network.control('seen', { number: person })).wereRead.includes(id))

    // The group's members are known from then on.
    const requests = await network.control('asked', { group: group.wa_group_id })
    const message = { number: people[0], to: number, group: group.wa_group_id, text: 'And this' }
    const { id } = await network.control('write', message)
    await until(async () => (await list()).length === 3)
    await must('POST', `/open/msgapp/conversation/${encodeURIComponent(session_key)}/read`)
    await until(async () => (await network.control('seen', { number: people[0] })).wereRead.includes(id))
    assert.deepEqual(await network.control('asked', { group: group.wa_group_id }), requests)
  })

  test('a group is created exactly once, although the network fails for one of its members', async () => {
    const number = newNumber()
    await linkChannel(platform, network, number)
    const [open, failing] = [await newPerson(), await newPerson(5)]
    const { group } = await must('POST', '/open/msgapp/group/create', {
      from_number: number,
      group: { name: 'Band', participants: [open, failing] },
    })
    assert.equal(group.participants[open].statusCode, 200)
    assert.equal(group.participants[failing].statusCode, 500)
    assert.equal((await must('GET', `/open/msgapp/groups/${number}`)).total, 1)
  })

  test('a linked number is restored after a restart without its phone and knows its contacts; a deleted one is unlinked', async () => {
    const number = newNumber()
    const channel = await linkChannel(platform, network, number)
    const [requested, person] = ['+5511987650007', '+551187650007']
    await network.control('people', { number: person })
    await send(number, requested, 'Before')
    await until(async () => (await seen(person)).length === 1)
    await platform.end()
    await network.control('write', { number: person, to: number, text: 'Meanwhile' })
    platform = await startPlatform(platform.home, network.env)
    await connected(platform, channel)
    // Before anything is sent again.
    await until(async () => (await thread(number, requested)).length === 2)
    await send(number, requested, 'After')
    await until(async () => (await seen(person)).length === 2)
    await until(async () => (await thread(number, requested)).length === 3)
    // The library would print the keys of every session that it opens or closes.
    assert.doesNotMatch(platform.output(), /privKey|rootKey|SessionEntry/)
    await must('DELETE', `/open/msgapp/channel/${channel}`)
    await until(async () => (await network.control('devices', { number })).count === 0)
  })
})
