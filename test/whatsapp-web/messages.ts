import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { BinaryNode, Content } from '../../src/adapters/whatsapp-web/library.ts'
import { bytesOf, childOf, childrenOf, node, seconds } from './nodes.ts'
import type { Person } from './person.ts'
import type { Device, Group, World } from './world.ts'

// Messages between linked devices and phones. The network sees only ciphertexts; phones decrypt them.

const newId = () => randomBytes(10).toString('hex').toUpperCase()

/** Key of a pending node: receipts share the id of their message. */
export const waitingKey = (tag: string, id: string, type: string): string =>
  tag === 'receipt' ? `${tag} ${id} ${type}` : `${tag} ${id}`

/** Sends a node to a device, at once if connected and on every reconnect until acknowledged. */
export const sendReliably = (device: Device, told: BinaryNode): void => {
  const { id = '', type = '' } = told.attrs
  device.waiting.set(waitingKey(told.tag, id, type), told)
  device.send?.(told)
}

const receipt = (
  chat: string,
  id: string,
  { type, participant }: { type?: string; participant?: string } = {},
): BinaryNode => node('receipt', { id, from: chat, t: seconds(), type, participant })

/** Delivers a message of a device: each recipient's phone decrypts it and sends a receipt. */
export const deliver = async (world: World, device: Device, message: BinaryNode): Promise<void> => {
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
    // The network reveals the number's identity to phones: they use one session for both addresses.
    const content = await person.open(device.lid, enc.attrs.type ?? '', bytesOf(enc))
    if (content.senderKeyDistributionMessage)
      await person.signal.processSenderKeyDistributionMessage({
        item: content.senderKeyDistributionMessage,
        authorJid: device.lid,
      })
    // Our own phone receives a wrapped copy.
    if (!group && !isOurs(jid)) await person.display(id, content, device.account.lidJid, world)
  }
  for (const person of recipients) {
    if (!person) continue
    if (group && common)
      await person.display(id, await person.openInGroup(group.id, device.lid, bytesOf(common)), to, world)
    const participant = group ? { participant: person.lidJid } : {}
    sendReliably(device, receipt(to, id, participant))
  }
}

/** Sends read receipts for all unread messages of a phone. */
export const read = (world: World, person: Person, account: Person): void => {
  for (const { id, chat } of person.unread.splice(0)) {
    const isGroup = chat.endsWith('@g.us')
    const told = receipt(isGroup ? chat : person.pnJid, id, {
      type: 'read',
      ...(isGroup ? { participant: person.lidJid } : {}),
    })
    // In addition to the delivery receipt.
    for (const device of world.devicesOf(account)) sendReliably(device, { ...told, attrs: { ...told.attrs } })
  }
}

/** Records a device's read receipts; in a group they name the author by the group's address. */
export const wereRead = (world: World, { attrs, content }: BinaryNode): void => {
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
  const pairOf = (of: BinaryNode | undefined) => ({
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

const encrypted = async (person: Person, device: Device, content: object): Promise<BinaryNode> => {
  await session(person, device)
  const data = person.library.encodeWAMessage(content)
  const { type, ciphertext } = await person.signal.encryptMessage({ jid: device.lid, data })
  return node('enc', { v: '2', type }, ciphertext)
}

/** Shares the application-state keys of a phone with a device of its account. */
export const shareKeys = async (device: Device): Promise<void> => {
  const { account } = device
  if (account.addressBook.isWithheld || device.hasKeys) return
  device.hasKeys = true
  const keyData = {
    keyData: account.addressBook.secret,
    fingerprint: { rawId: 1, currentIndex: 1, deviceIndexes: [0, 1] },
    timestamp: Number(seconds()),
  }
  const shared = { keys: [{ keyId: { keyId: account.addressBook.keyId }, keyData }] }
  const enc = await encrypted(account, device, { protocolMessage: { type: 6, appStateSyncKeyShare: shared } })
  const attrs = {
    id: newId(),
    from: account.lidJid,
    sender_pn: account.pnJid,
    t: seconds(),
    type: 'text',
    category: 'peer',
  }
  sendReliably(device, node('message', attrs, [enc]))
}

/** @param isHidden true to hide the sender's number from the device */
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
    sendReliably(device, node('message', { ...attrs, sender_pn: isHidden ? undefined : person.pnJid }, [enc]))
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
      sendReliably(device, node('message', attrs, [enc, node('enc', { v: '2', type: 'skmsg' }, ciphertext)]))
    }
  return id
}

export const leave = (world: World, person: Person, group: Group): void => {
  group.members.delete(person)
  const gone = node('participant', { jid: person.lidJid, phone_number: person.pnJid })
  const attrs = { id: newId(), from: group.id, type: 'w:gp2', participant: person.lidJid, t: seconds() }
  const told = node('notification', attrs, [node('remove', {}, [gone])])
  for (const member of group.members.keys()) for (const device of world.devicesOf(member)) sendReliably(device, told)
}

export const call = (world: World, person: Person, account: Person): void => {
  const about = { 'call-id': newId(), 'call-creator': person.lidJid, caller_pn: person.pnJid }
  const told = node('call', { id: newId(), from: person.lidJid, t: seconds() }, [
    node('offer', about, [node('audio', { enc: 'opus', rate: '16000' })]),
  ])
  for (const device of world.devicesOf(account)) sendReliably(device, told)
}

/** Uploads a file of a phone, encrypted. */
export const attach = async (world: World, person: Person, bytes: Buffer, mimetype: string): Promise<Content> => {
  const upload = async (path: string) => {
    const directPath = world.keep(await readFile(path))
    return { mediaUrl: `https://${world.host}${directPath}`, directPath }
  }
  const content = { document: bytes, mimetype, fileName: 'file' }
  return person.library.prepareWAMessageMedia(content, { upload })
}
