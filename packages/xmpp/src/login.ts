import { ns } from './namespaces.ts'
import { makeScram, ScramError, type ScramMechanism, scramHashes } from './scram.ts'
import { conditionOf, type Stream, StreamError } from './stream.ts'
import { child, elements, textOf, type XmlElement, xml } from './xml.ts'

export type Credentials = { readonly user: string; readonly password: string }

const encode = (text: string): string => Buffer.from(text).toString('base64')

const decode = (element: XmlElement): string => Buffer.from(textOf(element), 'base64').toString()

/** Transient failures (RFC 6120, 6.5). */
const transientFailures = new Set(['temporary-auth-failure', 'aborted'])

const features = async (stream: Stream): Promise<XmlElement> => {
  const element = await stream.next()
  if (element.name !== 'features' || element.ns !== ns.streams)
    throw new StreamError('the server has no features', false)
  return element
}

const auth = (mechanism: string, text: string): XmlElement => xml('auth', ns.sasl, { mechanism }, encode(text))

/** The next authentication element of the server. @throws StreamError when the login is refused */
const nextStep = async (stream: Stream): Promise<XmlElement> => {
  const element = await stream.next()
  if (element.name !== 'failure') return element
  const [condition] = elements(element)
  throw new StreamError(`the login was refused: ${conditionOf(element)}`, !transientFailures.has(condition?.name ?? ''))
}

const proveByScram = async (stream: Stream, mechanism: ScramMechanism, account: Credentials): Promise<void> => {
  const scram = makeScram(mechanism, account.user, account.password)
  stream.send(auth(mechanism, scram.first))
  const challenge = await nextStep(stream)
  stream.send(xml('response', ns.sasl, {}, encode(await scram.answer(decode(challenge)))))
  const final = await nextStep(stream)
  scram.verify(decode(final))
  if (final.name === 'success') return
  // A server may send its proof in a separate challenge.
  stream.send(xml('response', ns.sasl))
  await nextStep(stream)
}

const authenticate = async (stream: Stream, offered: XmlElement, account: Credentials): Promise<void> => {
  const mechanisms = child(offered, 'mechanisms', ns.sasl)
  const names = new Set(mechanisms ? elements(mechanisms, 'mechanism').map(textOf) : [])
  // Object.keys loses the key types.
  const best = (Object.keys(scramHashes) as ScramMechanism[]).find((name) => names.has(name))
  if (best) await proveByScram(stream, best, account)
  else if (names.has('PLAIN') && stream.isEncrypted) {
    stream.send(auth('PLAIN', `\0${account.user}\0${account.password}`))
    await nextStep(stream)
  } else throw new StreamError(`the server offers no supported login: ${[...names].join(', ') || 'none'}`, true)
}

/**
 * Opens the stream as a client, including login (RFC 6120, 4 to 6). Passwords are sent by SCRAM, or by PLAIN inside
 * TLS.
 * @returns the stream features after login
 * @throws StreamError
 */
export const logIn = async (stream: Stream, account: Credentials, wantsTls: boolean): Promise<XmlElement> => {
  await stream.open()
  let offered = await features(stream)
  if (wantsTls) {
    if (!child(offered, 'starttls', ns.tls)) throw new StreamError('the server offers no TLS', true)
    stream.send(xml('starttls', ns.tls))
    const answer = await stream.next()
    if (answer.name !== 'proceed') throw new StreamError('the server refused TLS', false)
    await stream.encrypt()
    await stream.restart()
    offered = await features(stream)
  }
  try {
    await authenticate(stream, offered, account)
  } catch (error) {
    if (error instanceof ScramError) throw new StreamError(error.message, true)
    throw error
  }
  await stream.restart()
  return features(stream)
}
