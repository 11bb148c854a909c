import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { answer, dial, receivesTone } from '../../src/adapters/sip-gateway/testing.ts'
import { freePort } from '../counterparts/program.ts'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { openScenarioTrunk, receive, reply, runScenario, sdp, send } from './sipp-scenario.ts'
import { activeUsers, endedCall, freePortSettings, openBrowserUser } from './voice-fixture.ts'

// Dialogs of carriers as they really come: SIPp runs each as a scenario against a whole platform.

const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const { call } = platform
const [ada = ''] = await activeUsers(platform)
const { number } = await buyNumber(platform)
const withheld = '+447700900999'

test(
  'a withheld number is anonymous to the account, in a conversation for each call, and known to the operator alone',
  needs('sipp'),
  async (t) => {
    const { numbers } = (await call('GET', '/open/voip/virtual-numbers')).body
    await call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { inbound_user_uuid: ada, record_inbound: true })
    const contact = { first_name: 'Known', last_name: 'Caller', contact_details: [{ type: 'PH', value: withheld }] }
    assert.equal((await call('POST', '/open/contacts', contact)).status, 201)
    const person = await openBrowserUser(t, platform, ada)
    assert.match(await person.register(), /^200/)
    const headers = `From: "Anonymous" <sip:anonymous@anonymous.invalid>;tag=[pid]near[call_number]
Call-ID: [call_id]
Max-Forwards: 70
Contact: <sip:${withheld}@[local_ip]:[local_port]>`
    const to = `sip:${number}@[remote_ip]:[remote_port]`
    const steps = [
      send(
        `INVITE ${to} SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
To: <${to}>
${headers}
CSeq: 1 INVITE
Privacy: id
P-Asserted-Identity: <sip:${withheld}@carrier.test>`,
        sdp,
      ),
      receive('100', 'optional="true"'),
      receive('180', 'optional="true"'),
      receive('200'),
      send(`ACK ${to} SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
[last_To:]
${headers}
CSeq: 1 ACK`),
      receive('BYE'),
      reply('200 OK').replace(/;tag=\[pid\]far\[call_number\]/, ''),
    ]
    for (const count of [1, 2]) {
      const caller = await runScenario(t, steps, {
        port: await freePort(),
        target: [`127.0.0.1:${platform.voicePort}`],
      })
      const ringing = await until(async () => person.web.calls.shift())
      assert.match(ringing.invite.headers.find(([name]) => name === 'From')?.[1] ?? '', /<sip:anonymous@/)
      const { session } = await answer(ringing, await person.softphone())
      await session.bye()
      assert.equal(await caller.ended, 0, caller.output().slice(-3_000))
      await endedCall(platform, count)
    }
    const { cdrs } = (await call('GET', '/open/voip/call-history')).body
    assert.deepEqual(
      cdrs.map((one: Record<string, unknown>) => [one.from, one.caller_id_used, one.contact_name]),
      [
        ['anonymous', 'anonymous', undefined],
        ['anonymous', 'anonymous', undefined],
      ],
    )
    const conversations = await until(async () => {
      const found = (await call('GET', '/open/conversations')).body.conversations
      return found.length === 2 && found
    })
    for (const { name, number: shown, channels } of conversations)
      assert.deepEqual([name, shown, channels], ['anonymous', undefined, []])
    const uuid = cdrs[0].uuid
    const account = cdrs[0].account_uuid
    const callEvents = ['call.status.update', 'call.incoming.completed', 'conversation.created'].map(
      (name) => `/open/events?name=${name}`,
    )
    // Everything that the account reads: records, timeline, events, conversations with their items.
    const read = await Promise.all(
      [
        ...[`/open/voip/call/${uuid}`, `/open/voip/call/${uuid}/timeline`, '/open/voip/call-history', ...callEvents],
        ...conversations.flatMap((one: { uuid: string }) => [
          `/open/conversations/${one.uuid}`,
          `/open/conversations/${one.uuid}/items`,
          `/open/events?conversation=${one.uuid}`,
        ]),
      ].map(async (path) => ({ path, ...(await call('GET', path)) })),
    )
    for (const { path, status, body } of read) {
      assert.equal(status, 200, path)
      assert.ok(!JSON.stringify(body).includes('7700900999'), `${path}: ${JSON.stringify(body)}`)
    }
    const asserted = await call('GET', `/operator/accounts/${account}/calls/${uuid}/asserted-caller`)
    assert.deepEqual(asserted.body, { success: true, asserted_number: withheld })
    const { acts } = (await call('GET', '/operator/audit?action=getAssertedCaller')).body
    assert.deepEqual(
      acts.map((one: { account_uuid: string }) => one.account_uuid),
      [account],
    )
    assert.ok(JSON.stringify(acts).includes(uuid))
  },
)

test(
  'an answer of a carrier without a session description costs nothing, and the record says why the call failed',
  needs('sipp'),
  async (t) => {
    const carrier = await openScenarioTrunk(t, platform, { prefixes: ['3361'] }, [
      receive('INVITE'),
      reply('180 Ringing'),
      reply('200 OK'),
      receive('ACK'),
      receive('BYE'),
      reply('200 OK').replace(/;tag=\[pid\]far\[call_number\]/, ''),
    ])
    const person = await openBrowserUser(t, platform, ada)
    assert.match(await person.register(), /^200/)
    const { dialled } = await dial(person.web, person.dialOptions('+33612345678', number), await person.softphone())
    await until(async () => dialled.refused[0])
    assert.equal(await carrier.ended, 0, carrier.output().slice(-3_000))
    const cdr = await endedCall(platform, 3)
    assert.deepEqual(
      [cdr.status, cdr.end_reason, cdr.duration, cdr.call_cost.call_price, cdr.call_cost.duration],
      ['FAILED', 'no_sdp', 0, 0, 0],
    )
  },
)

test(
  'a carrier answers in a reliable provisional response, changes the audio by UPDATE, and accepts without a description',
  needs('sipp'),
  async (t) => {
    const within = (method: string, cseq: number) => `${method} sip:trunkline@127.0.0.1:${platform.voicePort} SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]-${cseq}
From: [$2];tag=[pid]far[call_number]
To: [$1]
[last_Call-ID:]
CSeq: ${cseq} ${method}
Max-Forwards: 70
Contact: <sip:carrier@[local_ip]:[local_port]>`
    const keep = `<action>
    <ereg regexp=".*" search_in="hdr" header="From:" assign_to="1"/>
    <ereg regexp=".*" search_in="hdr" header="To:" assign_to="2"/>
    <ereg regexp=".*" search_in="hdr" header="Via:" assign_to="3"/>
    <ereg regexp=".*" search_in="hdr" header="CSeq:" assign_to="4"/>
  </action>`
    const answerInvite = (status: string, more: string, body?: string) =>
      send(
        `SIP/2.0 ${status}
Via: [$3]
From: [$1]
To: [$2];tag=[pid]far[call_number]
[last_Call-ID:]
CSeq: [$4]
Contact: <sip:carrier@[local_ip]:[local_port]>
${more}`,
        ...(body === undefined ? [] : [body]),
      )
    const carrier = await openScenarioTrunk(t, platform, { prefixes: ['3362'] }, [
      `<recv request="INVITE">${keep}</recv>`,
      answerInvite('183 Session Progress', 'Require: 100rel\nRSeq: 5', sdp),
      receive('PRACK'),
      reply('200 OK').replace(/;tag=\[pid\]far\[call_number\]/, ''),
      send(within('UPDATE', 11)),
      receive('200'),
      send(within('UPDATE', 12), sdp),
      `<recv response="200"><action><ereg regexp="m=audio [1-9]" search_in="body" check_it="true" assign_to="5"/></action></recv>`,
      send(within('INFO', 13)),
      receive('200'),
      answerInvite('200 OK', ''),
      receive('ACK'),
      receive('BYE'),
      reply('200 OK').replace(/;tag=\[pid\]far\[call_number\]/, ''),
      '<Reference variables="1,2,3,4,5"/>',
    ])
    const person = await openBrowserUser(t, platform, ada)
    assert.match(await person.register(), /^200/)
    const softphone = await person.softphone()
    // WebRTC takes one answer to an offer: the 200 repeats that of the announcement.
    let isAccepted = false
    const accept = async (text: string) => {
      if (isAccepted) return
      isAccepted = true
      await softphone.accept(text)
    }
    const { dialled } = await dial(person.web, person.dialOptions('+33622345678', number), {
      offer: softphone.offer,
      accept,
    })
    const session = await until(async () => dialled.session ?? dialled.refused[0])
    assert.ok(typeof session === 'object', `${String(session)} ${carrier.output().slice(-3_000)}`)
    await session.bye()
    assert.equal(await carrier.ended, 0, carrier.output().slice(-3_000))
    assert.equal((await endedCall(platform, 4)).status, 'COMPLETED')
  },
)

test('a carrier redirects a call to another of its addresses, where it is answered', needs('sipp'), async (t) => {
  const port = await freePort()
  const media = ['-rtp_echo']
  const second = await runScenario(
    t,
    [
      receive('INVITE'),
      reply('200 OK', '', sdp),
      receive('ACK'),
      receive('BYE'),
      reply('200 OK').replace(/;tag=\[pid\]far\[call_number\]/, ''),
    ],
    { port, target: media },
  )
  await second.listens(port, 'udp')
  const first = await openScenarioTrunk(t, platform, { prefixes: ['3363'] }, [
    receive('INVITE'),
    reply('302 Moved Temporarily').replace(/^Contact: .*$/m, `Contact: <sip:+33632345678@127.0.0.1:${port}>`),
    receive('ACK'),
  ])
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const softphone = await person.softphone()
  const { dialled } = await dial(person.web, person.dialOptions('+33632345678', number), softphone)
  const session = await until(async () => dialled.session ?? dialled.refused[0])
  assert.ok(typeof session === 'object', String(session))
  softphone.sendTone(1_000)
  await receivesTone(softphone, 1_000)
  await session.bye()
  assert.equal(await first.ended, 0, first.output().slice(-3_000))
  assert.equal(await second.ended, 0, second.output().slice(-3_000))
  assert.equal((await endedCall(platform, 5)).status, 'COMPLETED')
})
