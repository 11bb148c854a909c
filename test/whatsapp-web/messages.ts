import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Content, Node } from '../../src/connectors/whatsapp-web/library.ts'
import { bytesOf, childOf, childrenOf, node, seconds } from './nodes.ts'
import type { Person } from './person.ts'
import type { Device, Group, World } from './world.ts'

// Messages between linked devices and phones: the network sees ciphertexts, and only phones open them.

const newId = () => randomBytes(10).toString('hex').toUpperCase()

/** The receipts of a message have its id. */
export const waitingKey = (tag: string, id: string, type: string): string =>
  tag === 'receipt' ? `${tag} ${id} ${type}` : `${tag} ${id}`

/** To a device: at once while it is connected, and again whenever it comes, until it says that it has it. */
export const give = (device: Device, told: Node): void => {
  const { id = '', type = '' } = told.attrs
  device.waiting.set(waitingKey(told.tag, id, type), told)
  device.send?.(told)
}

const receipt = (chat: string, id: string, { type, participant }: { type?: string; participant?: string } = {}): Node =>
  node('receipt', { id, from: chat, t: seconds(), type, participant })

/** What a device sends: opened by the phone of each recipient, which says that it came. */
export const deliver = async (world: World, device: Device, message: Node): Promise<void> => {
  const { id = '', to = '' } = message.attrs
  const group = world.groups.get(to)
  const each = childrenOf(childOf(message, 'participants'))
  const common = childrenOf(message).find(({ tag }) => tag === 'enc')
  const isOurs = (jid: string) => world.find(jid) === device.account
  const recipients = group ? [...group.members.keys()].filter((one) => one !== device.account) : [world.find(to)]

  for (const one of each) {
    const jid = one.attrs.jid ?? ''
    const enc = childOf(one, 'enc')
    const person = world.find(jid)
    if (!person || !enc || /:\d+@/.test(jid)) continue
    // The network tells phones who a number is: they have one session with it, whatever it is called.
    const content = await person.open(device.lid, enc.attrs.type ?? '', bytesOf(enc))
    if (content.senderKeyDistributionMessage)
      await person.signal.processSenderKeyDistributionMessage({
        item: content.senderKeyDistributionMessage,
        authorJid: device.lid,
      })
    // To our own phone goes a copy, wrapped.
    if (!group && !isOurs(jid)) await person.show(id, content, device.account.lidJid, world)
  }
  for (const person of recipients) {
    if (!person) continue
    if (group && common)
      await person.show(id, await person.openInGroup(group.id, device.lid, bytesOf(common)), to, world)
    const participant = group ? { participant: person.lidJid } : {}
    give(device, receipt(to, id, participant))
  }
}

/** A phone says of everything that it has not read yet that it has. */
export const read = (world: World, person: Person, account: Person): void => {
  for (const { id, chat } of person.unread.splice(0)) {
    const isGroup = chat.endsWith('@g.us')
    const told = receipt(isGroup ? chat : person.pnJid, id, {
      type: 'read',
      ...(isGroup ? { participant: person.lidJid } : {}),
    })
    // Beside the one that says that it came.
    for (const device of world.devicesOf(account)) give(device, { ...told, attrs: { ...told.attrs } })
  }
}

/** A device says that it has read what a person wrote; in a group it names them as the group does. */
export const wereRead = (world: World, { attrs, content }: Node): void => {
  const { to = '', participant = '' } = attrs
  const person = world.groups.has(to)
    ? participant.endsWith('@lid')
      ? world.find(participant)
      : undefined
    : world.find(to)
  const [list] = childrenOf({ tag: 'receipt', attrs, content })
  for (const one of [attrs, ...childrenOf(list).map((item) => item.attrs)]) person?.wereRead.add(one.id ?? '')
}

const session = async (person: Person, device: Device): Promise<void> => {
  if ((await person.signal.validateSession(device.lid)).exists) return
  const { bundle } = device
  if (!bundle) throw new Error('the device has told no keys')
  const [key] = bundle.keys.splice(0, 1)
  const { generateSignalPubKey } = person.library
  const pairOf = (of: Node | undefined) => ({
    keyId: bytesOf(childOf(of, 'id')).readUIntBE(0, 3),
    publicKey: generateSignalPubKey(bytesOf(childOf(of, 'value'))),
    signature: bytesOf(childOf(of, 'signature')),
  })
  await person.signal.injectE2ESession({
    jid: device.lid,
    session: {
      registrationId: bundle.registration.readUInt32BE(),
      identityKey: generateSignalPubKey(device.identityKey),
      signedPreKey: pairOf(bundle.skey),
      ...(key ? { preKey: pairOf(key) } : {}),
    },
  })
}

const encrypted = async (person: Person, device: Device, content: object): Promise<Node> => {
  await session(person, device)
  const data = person.library.encodeWAMessage(content)
  const { type, ciphertext } = await person.signal.encryptMessage({ jid: device.lid, data })
  return node('enc', { v: '2', type }, ciphertext)
}

/** A phone shares with a device of its account the keys of what it keeps with them. */
export const shareKeys = async (device: Device): Promise<void> => {
  const { account } = device
  if (account.book.isWithheld || device.hasKeys) return
  device.hasKeys = true
  const keyData = {
    keyData: account.book.secret,
    fingerprint: { rawId: 1, currentIndex: 1, deviceIndexes: [0, 1] },
    timestamp: Number(seconds()),
  }
  const shared = { keys: [{ keyId: { keyId: account.book.keyId }, keyData }] }
  const enc = await encrypted(account, device, { protocolMessage: { type: 6, appStateSyncKeyShare: shared } })
  const attrs = {
    id: newId(),
    from: account.lidJid,
    sender_pn: account.pnJid,
    t: seconds(),
    type: 'text',
    category: 'peer',
  }
  give(device, node('message', attrs, [enc]))
}

/** @param isHidden the network does not tell the device which number it comes from */
export const write = async (
  world: World,
  person: Person,
  account: Person,
  content: Content,
  { isHidden = false, id = newId() } = {},
): Promise<string> => {
  for (const device of world.devicesOf(account)) {
    const enc = await encrypted(person, device, content)
    const attrs = { id, from: person.lidJid, t: seconds(), type: 'text', notify: `Person ${person.number.slice(-4)}` }
    give(device, node('message', { ...attrs, sender_pn: isHidden ? undefined : person.pnJid }, [enc]))
  }
  return id
}

export const writeToGroup = async (world: World, person: Person, group: Group, content: Content): Promise<string> => {
  const id = newId()
  const data = person.library.encodeWAMessage(content)
  const { ciphertext, senderKeyDistributionMessage } = await person.signal.encryptGroupMessage({
    group: group.id,
    meId: person.lidJid,
    data,
  })
  const key = {
    senderKeyDistributionMessage: {
      groupId: group.id,
      axolotlSenderKeyDistributionMessage: senderKeyDistributionMessage,
    },
  }
  for (const member of group.members.keys())
    for (const device of world.devicesOf(member)) {
      const attrs = {
        id,
        from: group.id,
        participant: person.lidJid,
        participant_pn: person.pnJid,
        addressing_mode: 'lid',
        t: seconds(),
        type: 'text',
      }
      const enc = await encrypted(person, device, key)
      give(device, node('message', attrs, [enc, node('enc', { v: '2', type: 'skmsg' }, ciphertext)]))
    }
  return id
}

export const leave = (world: World, person: Person, group: Group): void => {
  group.members.delete(person)
  const gone = node('participant', { jid: person.lidJid, phone_number: person.pnJid })
  const attrs = { id: newId(), from: group.id, type: 'w:gp2', participant: person.lidJid, t: seconds() }
  const told = node('notification', attrs, [node('remove', {}, [gone])])
  for (const member of group.members.keys()) for (const device of world.devicesOf(member)) give(device, told)
}

export const call = (world: World, person: Person, account: Person): void => {
  const about = { 'call-id': newId(), 'call-creator': person.lidJid, caller_pn: person.pnJid }
  const told = node('call', { id: newId(), from: person.lidJid, t: seconds() }, [
    node('offer', about, [node('audio', { enc: 'opus', rate: '16000' })]),
  ])
  for (const device of world.devicesOf(account)) give(device, told)
}

/** A file of a phone, put where the network keeps files, encrypted. */
export const attach = async (world: World, person: Person, bytes: Buffer, mimetype: string): Promise<Content> => {
  const upload = async (path: string) => {
    const directPath = world.keep(await readFile(path))
    return { mediaUrl: `https://${world.host}${directPath}`, directPath }
  }
  const content = { document: bytes, mimetype, fileName: 'file' }
  return person.library.prepareWAMessageMedia(content, { upload })
}
