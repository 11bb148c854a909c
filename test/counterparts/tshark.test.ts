import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { segment } from '@trunkline/phone/segments.ts'
import { encodePdu } from '@trunkline/smpp/encode.ts'
import { commandIds, noTlvs, type Pdu, tags } from '@trunkline/smpp/pdu.ts'
import { PduFramer } from '@trunkline/smpp/pdu-framer.ts'
import { encodeText } from '@trunkline/smpp/text-encoding.ts'
import { submitOf } from '../../src/adapters/smpp/short-message.ts'
import { needs } from '../needs.ts'
import { bindSession, carrierIdOf, makeSimulatorHome, ownNumber, startSimulator, submitAll } from '../simulator.ts'

// The PDUs of the client and the sandbox SMSC, decoded by tshark, which we did not write.

const run = promisify(execFile)

const udh = ['gsm_sms.udh.mm.msg_parts', 'gsm_sms.udh.mm.msg_part'] as const
const sar = ['smpp.sar_total_segments', 'smpp.sar_segment_seqnum'] as const
const fields = [
  ...['smpp.command_id', 'smpp.command_status', 'smpp.system_type', 'smpp.source_addr_ton', 'smpp.source_addr'],
  ...[
    'smpp.dest_addr_npi',
    'smpp.destination_addr',
    'smpp.data_coding',
    'smpp.regdel.receipt',
    'smpp.validity_period_r',
  ],
  ...[
    'smpp.message_text',
    'smpp.message',
    'smpp.message_payload',
    'smpp.receipted_message_id',
    'smpp.message_state',
    ...udh,
    ...sar,
  ],
  ...['gsm_sms.dis_iei_lang.locking_shift', 'gsm_sms.dis_iei_lang.single_shift'],
  ...['_ws.malformed', '_ws.expert.message'],
]

type RecordedFrame = { fromClient: boolean; frame: Buffer }

/** A relay to a port that records every PDU. */
const relay = async (t: TestContext, to: number, recorded: RecordedFrame[]): Promise<number> => {
  const server = createServer((client) => {
    const carrier = connect(to, '127.0.0.1')
    const pass = (from: Socket, into: Socket, fromClient: boolean) => {
      const frames = new PduFramer((frame) => recorded.push({ fromClient, frame: Buffer.from(frame) }))
      from.on('data', (chunk: Buffer) => {
        frames.push(chunk)
        into.write(chunk)
      })
      from.on('end', () => into.end())
      from.on('error', () => into.destroy())
    }
    pass(client, carrier, true)
    pass(carrier, client, false)
  })
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return address && typeof address === 'object' ? address.port : 0
}

/**
 * Decodes PDUs with tshark, from a capture file with one PDU per packet in TCP headers made by text2pcap. Repeated
 * fields of a PDU have their values joined by commas.
 */
const dissect = async (folder: string, recorded: readonly RecordedFrame[]): Promise<Record<string, string>[]> => {
  const dump = recorded.map(({ fromClient, frame }) => {
    const octets = [...frame].map((octet) => octet.toString(16).padStart(2, '0')).join(' ')
    return `${fromClient ? 'O' : 'I'}\n000000 ${octets}\n`
  })
  const [text, path] = [join(folder, 'smpp.txt'), join(folder, 'smpp.pcapng')]
  await writeFile(text, dump.join('\n'))
  await run('text2pcap', ['-q', '-D', '-T', '40000,2775', text, path])
  const { stdout } = await run('tshark', [
    ...['-r', path, '-d', 'tcp.port==2775,smpp', '-o', 'smpp.decode_sms_over_smpp:GSM 7-bit', '-T', 'fields'],
    ...fields.flatMap((field) => ['-e', field]),
  ])
  const lines = stdout.replace(/\n$/, '').split('\n')
  return lines.map((line) => Object.fromEntries(line.split('\t').map((value, i) => [fields[i] ?? '', value])))
}

const complaints = (pdus: readonly Record<string, string>[]) =>
  pdus.filter((pdu) => pdu['_ws.malformed'] || pdu['_ws.expert.message'] || !pdu['smpp.command_id'])

const long = { gsm7: `${'{x}'.repeat(40)}${'y'.repeat(200)}`, ucs2: `${'я'.repeat(66)}😀${'ю'.repeat(90)}` }

for (const mode of ['udh8', 'udh16', 'sar', 'payload'] as const) {
  test(`tshark decodes messages of the mode ${mode} as intended`, needs('tshark'), async (t) => {
    const folder = await makeSimulatorHome(t)
    const simulator = await startSimulator(t, folder)
    const recorded: RecordedFrame[] = []
    const port = await relay(t, simulator.smppPort, recorded)
    const platform = await bindSession(t, port, { long: mode, system_type: 'VMA' })
    const texts = ['Hello @£ {€}', 'Привет мир', long.gsm7, long.ucs2]
    for (const text of texts)
      for (const result of await submitAll(platform, '+33612345678', text, mode)) carrierIdOf(result)
    await simulator.call('POST', '/handsets/+33612345678/sms', { to: ownNumber, text: long.ucs2, long: mode })
    const segments = texts.map((text) => segment(text, mode))
    const sent = segments.flatMap(({ encoding, parts }) =>
      parts.map((part, i) => ({ encoding, part, place: i + 1, of: parts.length })),
    )
    const heard = segment(long.ucs2, mode).parts.length
    await platform.until(() => platform.receipts.length === sent.length && platform.inbound.length === heard)
    await platform.carrier.close()

    const pdus = await dissect(folder, recorded)
    assert.equal(pdus.length, recorded.length)
    assert.deepEqual(complaints(pdus), [])
    const [bound] = pdus
    assert.equal(bound?.['smpp.system_type'], 'VMA')
    const submits = pdus.filter((pdu) => pdu['smpp.command_id'] === '0x00000004')
    assert.equal(submits.length, sent.length)
    for (const [i, pdu] of submits.entries()) {
      const { encoding, part, place, of } = sent[i] ?? assert.fail()
      const octets = pdu['smpp.message'] || pdu['smpp.message_payload'] || ''
      assert.ok(octets.endsWith(encodeText(part, encoding).toString('hex')), octets)
      assert.deepEqual(
        ['data_coding', 'source_addr_ton', 'source_addr', 'dest_addr_npi', 'destination_addr', 'regdel.receipt'].map(
          (name) => pdu[`smpp.${name}`],
        ),
        [encoding === 'gsm7' ? '0x00' : '0x08', '0x01', '447911123456', '0x01', '33612345678', '0x01'],
      )
      const seen = (mode === 'sar' ? sar : udh).map((name) => Number(pdu[name] || 1))
      assert.deepEqual(seen, [of, place])
      if (part === texts[0] || part === texts[1]) assert.equal(pdu['smpp.message_text'], part)
    }
    const receipts = pdus.filter((pdu) => pdu['smpp.receipted_message_id'])
    assert.equal(receipts.length, sent.length)
    for (const pdu of receipts) assert.equal(pdu['smpp.message_state'], '2')
  })
}

test('tshark decodes the language tables and the part number from one header', needs('tshark'), async (t) => {
  const part = { message: 'm', part: 2, parts: 3, reference: 7, source: ownNumber, destination: '+33612345678' }
  const shift = { locking: 3, single: 1 }
  const frame = encodePdu(submitOf({ ...part, text: 'ação', encoding: 'gsm7', shift }, 1))
  const [pdu] = await dissect(await makeSimulatorHome(t), [{ fromClient: true, frame }])
  assert.deepEqual(complaints(pdu ? [pdu] : []), [])
  assert.deepEqual(
    ['dis_iei_lang.locking_shift', 'dis_iei_lang.single_shift', 'udh.mm.msg_parts', 'udh.mm.msg_part'].map(
      (name) => pdu?.[`gsm_sms.${name}`],
    ),
    ['3', '1', '3', '2'],
  )
})

test('tshark decodes every kind of PDU without a complaint', needs('tshark'), async (t) => {
  const address = { ton: 1, npi: 1, address: '33612345678' }
  const head = { sequence: 7, status: 0 }
  const text = {
    ...{
      serviceType: 'CMT',
      source: address,
      destination: address,
      esmClass: 0,
      protocolId: 0,
      priority: 1,
      schedule: '',
    },
    ...{ validity: '000001000000000R', registered: 1, replaceIfPresent: 0, dataCoding: 0, defaultMessageId: 0 },
    ...{ shortMessage: Buffer.from('Hello'), tlvs: noTlvs },
  }
  const account = { systemId: 'esme', password: 'secret', systemType: 'VMA', version: 0x34, range: address }
  const id = { messageId: '4711' }
  const bare = [
    'generic_nack',
    'unbind',
    'unbind_resp',
    'enquire_link',
    'enquire_link_resp',
    'cancel_sm_resp',
    'replace_sm_resp',
  ] as const
  const pdus: Pdu[] = [
    ...(['bind_receiver', 'bind_transmitter', 'bind_transceiver'] as const).flatMap((command): Pdu[] => [
      { command, ...head, ...account },
      {
        command: `${command}_resp`,
        ...head,
        systemId: 'sc',
        tlvs: new Map([[tags.sc_interface_version, Buffer.of(0x34)]]),
      },
    ]),
    ...bare.map((command) => ({ command, ...head })),
    { command: 'submit_sm', ...head, ...text },
    { command: 'submit_sm', ...head, ...text, shortMessage: Buffer.alloc(300, 'x') },
    { command: 'submit_sm_resp', ...head, ...id, tlvs: noTlvs },
    { command: 'deliver_sm', ...head, ...text, validity: '' },
    { command: 'deliver_sm_resp', ...head, messageId: '', tlvs: noTlvs },
    {
      command: 'data_sm',
      ...head,
      serviceType: '',
      source: address,
      destination: address,
      esmClass: 0,
      registered: 0,
      dataCoding: 8,
      tlvs: new Map([[tags.message_payload, Buffer.from('0430', 'hex')]]),
    },
    { command: 'data_sm_resp', ...head, ...id, tlvs: noTlvs },
    { command: 'query_sm', ...head, ...id, source: address },
    { command: 'query_sm_resp', ...head, ...id, finalDate: '', state: 2, error: 0 },
    { command: 'cancel_sm', ...head, ...id, serviceType: '', source: address, destination: address },
    {
      command: 'replace_sm',
      ...head,
      ...id,
      source: address,
      schedule: '',
      validity: '',
      registered: 1,
      defaultMessageId: 0,
      shortMessage: Buffer.from('Hi'),
    },
    { command: 'outbind', ...head, systemId: 'sc', password: 'secret' },
    { command: 'alert_notification', ...head, source: address, esme: address, tlvs: noTlvs },
  ]
  const read = await dissect(
    await makeSimulatorHome(t),
    pdus.map((pdu) => ({ fromClient: true, frame: encodePdu(pdu) })),
  )
  assert.deepEqual(complaints(read), [])
  assert.deepEqual(
    read.map((pdu) => Number(pdu['smpp.command_id'])),
    pdus.map(({ command }) => commandIds[command]),
  )
  assert.equal(new Set(pdus.map(({ command }) => command)).size, Object.keys(commandIds).length)
  // Proves that tshark does complain when a PDU is broken.
  const frame = Buffer.from('000000210000000500000000000003e800010131000101320000000000000000ff', 'hex')
  assert.equal(complaints(await dissect(await makeSimulatorHome(t), [{ fromClient: true, frame }])).length, 1)
})
