import { ns } from './codec/names.ts'
import { makeScram, ScramFault, type ScramMechanism, scramHashes } from './codec/scram.ts'
import { child, elements, textOf, type Xml, xml } from './codec/xml.ts'
import { conditionOf, Refused, type Stream } from './stream.ts'

export type Account = { readonly user: string; readonly password: string }

const encode = (text: string): string => Buffer.from(text).toString('base64')

const decode = (element: Xml): string => Buffer.from(textOf(element), 'base64').toString()

/** Failures that pass (RFC 6120, 6.5). */
const passing = new Set(['temporary-auth-failure', 'aborted'])

const features = async (stream: Stream): Promise<Xml> => {
  const element = await stream.next()
  if (element.name !== 'features' || element.ns !== ns.streams) throw new Refused('the server has no features', false)
  return element
}

const auth = (mechanism: string, text: string): Xml => xml('auth', ns.sasl, { mechanism }, encode(text))

/** The step that the server takes. @throws Refused when it refuses the login */
const step = async (stream: Stream): Promise<Xml> => {
  const element = await stream.next()
  if (element.name !== 'failure') return element
  const [condition] = elements(element)
  throw new Refused(`the login was refused: ${conditionOf(element)}`, !passing.has(condition?.name ?? ''))
}

const proveByScram = async (stream: Stream, mechanism: ScramMechanism, account: Account): Promise<void> => {
  const scram = makeScram(mechanism, account.user, account.password)
  stream.send(auth(mechanism, scram.first))
  const challenge = await step(stream)
  stream.send(xml('response', ns.sasl, {}, encode(await scram.answer(decode(challenge)))))
  const final = await step(stream)
  scram.verify(decode(final))
  if (final.name === 'success') return
  // A server may send its proof in a challenge of its own.
  stream.send(xml('response', ns.sasl))
  await step(stream)
}

const authenticate = async (stream: Stream, offered: Xml, account: Account): Promise<void> => {
  const mechanisms = child(offered, 'mechanisms', ns.sasl)
  const names = new Set(mechanisms ? elements(mechanisms, 'mechanism').map(textOf) : [])
  // Object.keys forgets the names' types.
  const best = (Object.keys(scramHashes) as ScramMechanism[]).find((name) => names.has(name))
  if (best) await proveByScram(stream, best, account)
  else if (names.has('PLAIN') && stream.isEncrypted) {
    stream.send(auth('PLAIN', `\0${account.user}\0${account.password}`))
    await step(stream)
  } else throw new Refused(`the server offers no login that we take: ${[...names].join(', ') || 'none'}`, true)
}

/**
 * Opens the stream as a client, up to the login (RFC 6120, 4 to 6). Passwords go in SCRAM, or in PLAIN inside TLS.
 * @returns the features that the server offers then
 * @throws Refused
 */
export const logIn = async (stream: Stream, account: Account, wantsTls: boolean): Promise<Xml> => {
  await stream.open()
  let offered = await features(stream)
  if (wantsTls) {
    if (!child(offered, 'starttls', ns.tls)) throw new Refused('the server offers no TLS', true)
    stream.send(xml('starttls', ns.tls))
    const answer = await stream.next()
    if (answer.name !== 'proceed') throw new Refused('the server refused TLS', false)
    await stream.encrypt()
    await stream.restart()
    offered = await features(stream)
  }
  try {
    await authenticate(stream, offered, account)
  } catch (error) {
    if (error instanceof ScramFault) throw new Refused(error.message, true)
    throw error
  }
  await stream.restart()
  return features(stream)
}
